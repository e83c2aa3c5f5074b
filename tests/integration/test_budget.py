"""`--rlperf-budget` ends a run soon, and what it could not decide is inconclusive."""

import pytest

from .projects import BLOCK_BUDGET, CONFTEST, Ended, Workshop

LIBRARY = "from fakeclock import tick\n\ndef work():\n    tick(1_000_000)\n"
TESTS = """
import lib

def test_one(rlperf):
    rlperf(lib.work)

def test_two(rlperf):
    rlperf(lib.work)
"""


@pytest.fixture(scope="module")
def ended(workshop: Workshop) -> Ended:
    files = {
        "lib.py": LIBRARY,
        "tests/test_perf.py": TESTS,
        "conftest.py": CONFTEST + BLOCK_BUDGET,
    }
    return workshop.project("budget", files).measure("--rlperf-budget=3s")


def test_undecided_tests_are_inconclusive(ended: Ended):
    assert set(ended.outcomes.values()) == {"inconclusive"}


def test_it_says_how_far_it_came_and_what_to_do(ended: Ended):
    metric = ended.metric("test_one")
    assert 1 <= metric["blocks"] <= 3
    assert "raise --rlperf-budget" in metric["reason"]
    assert f"test_one: inconclusive: {metric['reason']}" in ended.text


def test_inconclusive_is_no_failure(ended: Ended):
    assert ended.code == 0


def test_a_budget_that_is_over_at_once_still_ends_in_order(workshop: Workshop):
    files = {"lib.py": LIBRARY, "tests/test_perf.py": TESTS}
    ended = workshop.project("no-budget", files).measure("--rlperf-budget=0.01")
    assert ended.code == 0
    assert set(ended.outcomes.values()) == {"inconclusive"}
    assert "the budget ran out" in ended.metric("test_two")["reason"]


@pytest.mark.parametrize("given", ["soon", "0", "-1", "inf"])
def test_what_is_no_time_is_refused(workshop: Workshop, given: str):
    project = workshop.project(f"budget-{given}", {"test_a.py": ""})
    ended = project.run("--rlperf", f"--rlperf-budget={given}")
    assert ended.code == 4
    assert (
        f"ERROR: rlperf: --rlperf-budget is {given!r}, which is no time; write seconds, such as "
        "300." in ended.text.splitlines()
    )
