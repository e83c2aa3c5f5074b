"""A test that is run several times in a process of a block: with data of its own each time."""

import pytest

from .fake_time import CONFTEST, FEW_BLOCKS
from .projects import Ended, Workshop

THREE_TIMES = """
if CONTROLLER:
    from pytest_rlperf.gate import campaign

    campaign.times_for = lambda free_s, planned_s: 3
"""
LIBRARY = "from fakeclock import tick\n\ndef work():\n    tick({ns})\n"
TESTS = """
import os

import lib
import pytest

def note(what):
    with open(os.path.join(os.environ["INTEGRATION_FOLDER"], f"made-{os.getpid()}"), "a") as file:
        print(what, file=file)

@pytest.fixture(scope="module")
def of_module():
    note("module")

@pytest.fixture
def of_function():
    note("function")
    yield
    note("torn down")

def test_work(rlperf, of_module, of_function):
    rlperf(lib.work)

def test_other(rlperf, of_module):
    rlperf(lib.work)
"""


@pytest.fixture(scope="module")
def replayed(workshop: Workshop) -> Ended:
    base = {"lib.py": LIBRARY.format(ns=1_000_000)}
    head = {
        "lib.py": LIBRARY.format(ns=2_000_000),
        "tests/test_perf.py": TESTS,
        "conftest.py": CONFTEST + FEW_BLOCKS + THREE_TIMES,
    }
    return workshop.project("replays", base, head).measure()


def test_both_tests_are_judged_as_if_they_were_run_once(replayed: Ended):
    assert set(replayed.outcomes.values()) == {"regressed"}
    assert replayed.metric("test_work")["change"] == pytest.approx(1.0, rel=0.01)


def test_a_block_holds_the_slices_of_all_runs(replayed: Ended):
    plan, blocks = replayed.test("test_work")["plan"], replayed.test("test_work")["blocks"]
    assert {side["slices"] for block in blocks for side in (block["head"], block["base"])} == {
        3 * plan["pairs"]
    }


def test_each_run_has_its_own_fixtures_but_those_of_the_module(replayed: Ended):
    made = {path.read_text() for path in replayed.folder.parent.rglob("made-*")}
    run = "function\ntorn down\n"
    # Scouts run each test once, and of two blocks at once each may have one test only.
    assert "module\n" + 3 * run in made
    assert made <= {"module\n" + times * run for times in (0, 1, 3)}
