"""Phases of measured functions, from the library to the result."""

import pytest

from .projects import Ended, Workshop

LIBRARY = """
import pytest_rlperf
from fakeclock import tick

MS = 1_000_000

def train():
    with pytest_rlperf.phase("env_step"):
        tick(0.6 * MS)
    with pytest_rlperf.phase("learn"):
        tick({learn} * MS)
    tick(0.1 * MS)
"""

TESTS = """
import lib

def test_train(rlperf):
    rlperf(lib.train)

def test_own_phase(rlperf):
    def play():
        with rlperf.phase("play"):
            lib.train()

    rlperf(play)

def test_never_closed(rlperf):
    def forget():
        rlperf.phase("open").__enter__()
        lib.train()

    rlperf(forget)

def test_inside_itself(rlperf):
    def nested():
        with rlperf.phase("learn"):
            lib.train()

    rlperf(nested)

def test_nameless(rlperf):
    rlperf(lambda: rlperf.phase(""))
"""


@pytest.fixture(scope="module")
def phased(workshop: Workshop) -> Ended:
    head, base = LIBRARY.format(learn=0.6), LIBRARY.format(learn=0.3)
    files = {"lib.py": base, "tests/test_perf.py": TESTS}
    project = workshop.project("phases", files, {"lib.py": head})
    return project.measure(f"--rlperf-report={workshop.folder / 'phases-report'}")


def test_the_result_tells_each_phase_and_which_one_moved(phased: Ended):
    phases = {phase["name"]: phase for phase in phased.test("test_train")["phases"]}
    assert list(phases) == ["env_step", "learn", "outside of phases"]
    assert phases["learn"]["base_share"] == pytest.approx(0.3, abs=0.01)
    assert phases["learn"]["share"] == pytest.approx(6 / 13, abs=0.01)
    assert phases["learn"]["change"] == pytest.approx(0.3, abs=0.01)
    assert [name for name, phase in phases.items() if phase["moved"]] == ["learn"]


def test_the_terminal_shows_it_in_a_table_and_in_the_failure(phased: Ended):
    assert "moved  learn" in phased.text
    assert "phases: learn adds +30.0 % of the whole call" in phased.section("test_train")


def test_the_report_has_the_table_too(phased: Ended, workshop: Workshop):
    assert "### Phases" in (workshop.folder / "phases-report" / "report.md").read_text()


def test_phases_of_the_library_lie_inside_those_of_the_test(phased: Ended):
    phases = {phase["name"]: phase for phase in phased.test("test_own_phase")["phases"]}
    assert phases["play"]["share"] == pytest.approx(1 / 13, abs=0.01)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("test_never_closed", "the phase 'open' was never closed; write with"),
        ("test_inside_itself", "the phase 'learn' was entered inside itself; give"),
        ("test_nameless", "a phase is called ''; give it a name"),
    ],
)
def test_a_mistake_fails_the_test_with_one_line(phased: Ended, name: str, message: str):
    assert phased.test(name)["metrics"][0]["outcome"] == "failed"
    lines = phased.text.splitlines()
    (failed,) = [x for x in lines if x.startswith("FAILED") and name in x]
    if pytest.version_tuple >= (9,):  # before, the summary names the test alone
        assert message in failed
    assert [x for x in lines if message in x and x is not failed]
