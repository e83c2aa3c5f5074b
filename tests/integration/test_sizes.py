"""`@pytest.mark.rlperf(sizes=[...])`: one test a size, and the exponent over all of them."""

import pytest

from .projects import Ended, Project, Workshop

LIBRARY = """
from fakeclock import tick

MS = 1_000_000

def sample(size):
    tick({cost} * MS)

def scan(size):
    tick(size * MS / 100)
"""

TESTS = """
import lib
import pytest

@pytest.mark.rlperf(sizes=[1000, 10, 100])
def test_sample(rlperf, rlperf_size):
    rlperf(lib.sample, rlperf_size)

@pytest.mark.rlperf(sizes=[10, 100])
@pytest.mark.parametrize("kind", ["a", "b"])
def test_scan(rlperf, rlperf_size, kind):
    rlperf(lib.scan, rlperf_size)
"""

BASE = {"lib.py": LIBRARY.format(cost="1"), "tests/test_perf.py": TESTS}
HEAD = {"lib.py": LIBRARY.format(cost="size / 10")}


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    return workshop.project("sizes", BASE, HEAD)


@pytest.fixture(scope="module")
def sized(project: Project) -> Ended:
    return project.measure()


def test_each_size_is_a_test_of_its_own(sized: Ended):
    assert [name for name in sized.outcomes if "sample" in name] == [
        "test_sample[size=10]",
        "test_sample[size=100]",
        "test_sample[size=1000]",
    ]
    assert sized.outcomes["test_sample[size=10]"] == "unchanged"
    assert sized.outcomes["test_sample[size=100]"] == "regressed"


def test_a_steeper_growth_regresses_with_the_largest_size(sized: Ended):
    metric = sized.metric("test_sample[size=1000]", "exponent")
    assert metric["outcome"] == "regressed"
    assert (metric["unit"], metric["threshold_abs"]) == (None, 0.1)
    assert metric["base_value"] == pytest.approx(0.0, abs=0.01)
    assert metric["value"] == pytest.approx(1.0, abs=0.01)
    assert metric["low_abs"] - 0.01 < 1.0 < metric["high_abs"] + 0.01
    assert "O(1) became O(n)" in sized.section("test_sample[size=1000]")
    assert sized.code == 1


def test_a_linear_test_that_stays_so_is_unchanged_whatever_else_it_is_parametrized_by(
    sized: Ended,
):
    for kind in "ab":
        (metric,) = [
            row
            for test in sized.result["tests"]
            if test["nodeid"].endswith(("-100]", "=100]", f"={100}-{kind}]"))
            and f"{kind}" in test["nodeid"].partition("[")[2]
            for row in test["metrics"]
            if row["name"] == "exponent"
        ]
        assert metric["outcome"] == "unchanged"
        assert metric["value"] == pytest.approx(1.0, abs=0.01)


def test_the_terminal_names_the_laws(sized: Ended):
    (line,) = [line for line in sized.text.splitlines() if line.startswith("REGRESSED  exponent")]
    assert "O(1) → 1.00 O(n)" in line


def test_a_plain_run_has_every_size(project: Project):
    ended = project.run(json_result=False)
    assert "7 passed" in ended.text


@pytest.mark.parametrize("sizes", ["[10]", "[10, 10]", "[10, 0]", "[10, -1]", "[10, 'a']", "10"])
def test_sizes_that_tell_nothing_are_refused_in_one_line(workshop: Workshop, sizes: str):
    text = TESTS.replace("[1000, 10, 100]", sizes)
    name = "wrong-" + "".join(c if c.isalnum() else "-" for c in sizes)
    project = workshop.project(name, {**BASE, "tests/test_perf.py": text})
    ended = project.refuse("--rlperf", "--rlperf-against=base")
    assert "is not a list of two or more different numbers above 0; correct it." in ended.text
    assert ended.code != 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TESTS.replace("rlperf, rlperf_size)", "rlperf)"), "the marker names sizes, and the test"),
        (TESTS.replace("(sizes=[1000, 10, 100])", "()"), "no marker says which sizes there are"),
    ],
)
def test_sizes_need_marker_and_argument(workshop: Workshop, text: str, message: str):
    project = workshop.project(f"half-{len(text)}", {**BASE, "tests/test_perf.py": text})
    ended = project.refuse()
    assert message in ended.text
    assert ended.code != 0
