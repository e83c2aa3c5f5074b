"""`--rlperf-threshold`, its ini twin, and the marker's own."""

import pytest

from .projects import Ended, Project, Workshop

TESTS = """
import lib
import pytest

def test_run(rlperf):
    rlperf(lib.work)

@pytest.mark.rlperf(threshold="4%")
def test_marker(rlperf):
    rlperf(lib.work)

@pytest.mark.rlperf(threshold=0.5)
class TestClass:
    def test_of_the_class(self, rlperf):
        rlperf(lib.work)
"""
LIBRARY = "from fakeclock import tick\n\ndef work():\n    tick({ns})\n"


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    base = {"lib.py": LIBRARY.format(ns=1_000_000), "tests/test_perf.py": TESTS}
    head = {
        "lib.py": LIBRARY.format(ns=920_000),
        "pytest.ini": "[pytest]\nrlperf_threshold = 1%\n",
    }
    return workshop.project("threshold", base, head)


@pytest.fixture(scope="module")
def ended(project: Project) -> Ended:
    return project.measure("--rlperf-threshold=20%")


def test_a_gain_smaller_than_the_threshold_is_no_improvement(ended: Ended):
    metric = ended.metric("test_run")
    assert metric["threshold"] == 0.2  # and not the ini file's
    assert (metric["outcome"], metric["reason"]) == ("faster", "faster, beyond doubt")


def test_the_markers_own_threshold_comes_first(ended: Ended):
    metric = ended.metric("test_marker")
    assert metric["threshold"] == 0.04
    assert metric["outcome"] == "improved"
    assert metric["reason"] == "faster by more than 4.0 %"


def test_the_table_shows_each_tests_own(ended: Ended):
    lines = [line for line in ended.text.splitlines() if line.endswith("::test_marker")]
    assert any("+4.0 %" in line for line in lines)


def test_a_marker_on_a_class_counts_for_its_tests(ended: Ended):
    assert ended.metric("TestClass::test_of_the_class")["threshold"] == 0.5


def test_the_repeat_command_keeps_the_threshold(ended: Ended):
    command = ended.test("test_marker")["repeat_command"]
    assert " --rlperf --rlperf-against=base --rlperf-threshold=20% " in command
    assert command.endswith(" tests/test_perf.py::test_marker")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("five", "is 'five', which is no allowed slowdown; write 5% or 0.05, above 0."),
        ("-5%", "is '-5%', which is no allowed slowdown; write 5% or 0.05, above 0."),
        ("5", "is '5', which would be 500%; write 5%."),
    ],
)
def test_what_is_no_threshold_is_refused(project: Project, given: str, sentence: str):
    ended = project.refuse("--rlperf", f"--rlperf-threshold={given}")
    assert ended.code == 4
    assert f"ERROR: rlperf: --rlperf-threshold {sentence}" in ended.text.splitlines()


def test_a_marker_with_no_threshold_is_refused(workshop: Workshop):
    text = "import pytest\n@pytest.mark.rlperf(threshold='much')\ndef test_a(rlperf): rlperf(int)\n"
    ended = workshop.project("threshold-marker", {"test_a.py": text}).refuse("--rlperf")
    assert ended.code == 4
    assert (
        "ERROR: rlperf: test_a.py::test_a: threshold is 'much', which is no allowed slowdown; "
        "write 5% or 0.05, above 0." in ended.text.splitlines()
    )
