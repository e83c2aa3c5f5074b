"""Which part of the suite was asked for, and by what a test is recognised."""

from pathlib import Path

import pytest

from pytest_rlperf.gate.selection import Scope, selected_scope, source_hash, without_size

BENCHMARK = """
def test_one(rlperf):
    rlperf(int)
"""


def scope(pytester: pytest.Pytester, *arguments: str) -> Scope:
    return selected_scope(pytester.parseconfig(*arguments))


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini("[pytest]\n")
    for name in ("tests/perf/test_a.py", "other/test_b.py"):
        path = pytester.path / name
        path.parent.mkdir(parents=True)
        path.write_text(BENCHMARK)
    return pytester


def test_without_arguments_it_is_the_whole_project(suite: pytest.Pytester):
    found = scope(suite)
    assert found.whole
    assert found.holds("tests/perf/test_a.py::test_one")
    assert found.holds("other/test_b.py::test_one")


@pytest.mark.parametrize("argument", ["tests", "tests/perf", "tests/perf/test_a.py"])
def test_a_folder_or_file_is_all_that_lies_in_it(suite: pytest.Pytester, argument: str):
    found = scope(suite, argument)
    assert found.whole
    assert found.holds("tests/perf/test_a.py::test_one")
    assert not found.holds("other/test_b.py::test_one")


@pytest.mark.parametrize(
    "narrowed",
    [
        ["-k", "one"],
        ["-m", "slow"],
        ["tests/perf/test_a.py::test_one"],
        ["--deselect=tests/perf/test_a.py::test_one"],
        ["--ignore=other"],
        ["--ignore-glob=*b.py"],
        ["--lf"],
        ["--rlperf", "--rlperf-category=replay"],
        ["-o", "rlperf_category=replay"],
    ],
)
def test_a_narrowed_selection_is_not_whole(suite: pytest.Pytester, narrowed: list[str]):
    assert not scope(suite, *narrowed).whole


def test_what_lies_outside_of_the_project_is_nobodys_whole(suite: pytest.Pytester, tmp_path: Path):
    outside = tmp_path.parent / "outside"
    outside.mkdir(exist_ok=True)
    assert not scope(suite, str(outside), f"--rootdir={suite.path}").whole


def hashes(pytester: pytest.Pytester, **modules: str) -> list[str]:
    """Of the one test in each module, in the order of their names."""
    pytester.makepyfile(**{f"test_{name}": text for name, text in modules.items()})
    items, _ = pytester.inline_genitems()
    return [source_hash(item) for item in items]


def test_a_change_of_the_body_or_of_a_mark_is_another_source(pytester: pytest.Pytester):
    body = BENCHMARK.replace("int", "float")
    marked = f"import pytest\n\n@pytest.mark.rlperf(steps=3){BENCHMARK}"
    assert len(set(hashes(pytester, a=BENCHMARK, b=body, c=marked))) == 3


def test_another_name_or_place_is_the_same_source(pytester: pytest.Pytester):
    renamed = BENCHMARK.replace("test_one", "test_first")
    moved = f"import os\n\n\n{BENCHMARK}"
    found = hashes(pytester, a=BENCHMARK, b=renamed, c=moved)
    assert len(found) == 3
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    ("nodeid", "family"),
    [
        ("test_a.py::test_a[size=10]", "test_a.py::test_a"),
        ("test_a.py::test_a[nprocs=2-size=10]", "test_a.py::test_a[nprocs=2]"),
        ("test_a.py::test_a[size=10-list]", "test_a.py::test_a[list]"),
        ("test_a.py::test_a[size=100]", "test_a.py::test_a[size=100]"),
    ],
)
def test_all_sizes_of_a_test_share_its_name_without_them(nodeid: str, family: str):
    assert without_size(nodeid, "size=10") == family
