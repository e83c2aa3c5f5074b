"""Tests that have a baseline and are gone: named, with the new name where the source tells it."""

import pytest

from .projects import Ended, Project, Workshop
from .stored import TESTS, coarse, compare, new_project, save, stored

GONE = """
@pytest.mark.rlperf(iterations=10)
def test_gone(rlperf):
    rlperf(lib.other, *())
"""


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    project = new_project(workshop, "vanished", {"tests/test_perf.py": TESTS + GONE})
    assert save(project).code == 0
    project.write({"tests/test_perf.py": TESTS.replace("test_other", "test_renamed")})
    return project


@pytest.fixture(scope="module")
def ended(project: Project) -> Ended:
    return compare(project)


def test_the_result_names_them_with_the_new_name(ended: Ended):
    assert ended.result["vanished"] == [
        {"nodeid": "tests/test_perf.py::test_gone", "renamed_to": None},
        {
            "nodeid": "tests/test_perf.py::test_other",
            "renamed_to": "tests/test_perf.py::test_renamed",
        },
    ]


def test_the_terminal_has_a_line_for_each(ended: Ended):
    said = "vanished: it has a stored baseline, and is no longer there"
    lines = ended.text.splitlines()
    assert f"tests/test_perf.py::test_gone: {said}" in lines
    assert (
        f"tests/test_perf.py::test_other: {said}; it seems to be "
        "tests/test_perf.py::test_renamed now" in lines
    )


def test_a_vanished_test_alone_does_not_fail_the_run(ended: Ended):
    assert ended.code == 0
    assert coarse(ended) == {"test_work": "passed", "test_renamed": "no_baseline"}


def test_part_of_the_suite_says_nothing_about_the_rest(project: Project):
    found = project.run("--rlperf", "--rlperf-budget=0.01", "-k", "work")
    assert found.result["vanished"] == []


def test_a_shard_knows_the_whole_suite_and_misses_nothing_that_another_one_has(
    project: Project, ended: Ended
):
    for shard in ("1/2", "2/2"):
        found = project.run("--rlperf", "--rlperf-budget=0.01", f"--rlperf-shard={shard}")
        assert len(found.result["tests"]) == 1
        assert found.result["vanished"] == ended.result["vanished"]


def test_a_save_of_the_whole_suite_drops_them(project: Project, ended: Ended):
    saved = save(project)
    assert stored(project).keys() == {"test_work", "test_renamed"}
    assert "rlperf: 2 tests dropped from it, since the suite has them no more." in (
        saved.text.splitlines()
    )
