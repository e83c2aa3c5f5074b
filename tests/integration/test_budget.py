"""`--rlperf-budget` ends a run soon, and what it could not decide is inconclusive.

A slow test gets its share of the budget and no more.
"""

import pytest

from .fake_time import BLOCK_BUDGET, CONFTEST
from .projects import Ended, Workshop

LIBRARY = """
import time

from fakeclock import ordinal, tick

def work():
    tick(1_000_000)

def slow():
    time.sleep(0.4)
    tick(400_000_000)
"""
UNSTEADY = "tick(1_050_000 * (1.35 if ordinal() % 2 else 1 / 1.35))"
TESTS = """
import lib
import pytest

# Of two calls: time is real where it is shared, and 64 turns that each wait for a core take as long
# as a slow call.
quick = pytest.mark.rlperf(iterations=2)

@quick
def test_one(rlperf):
    rlperf(lib.work)

@quick
def test_two(rlperf):
    rlperf(lib.work)

@quick
def test_three(rlperf):
    rlperf(lib.work)
"""
SLOW_TEST = """
def test_slow(rlperf):
    rlperf(lib.slow)
"""
QUICK = ("test_one", "test_two", "test_three")


@pytest.fixture(scope="module")
def ended(workshop: Workshop) -> Ended:
    base = {"lib.py": LIBRARY}
    head = {
        "lib.py": LIBRARY.replace("tick(1_000_000)", UNSTEADY),
        "tests/test_perf.py": TESTS + SLOW_TEST,
        "conftest.py": CONFTEST + BLOCK_BUDGET,
    }
    return workshop.project("budget", base, head).measure("--rlperf-budget=8s")


def test_undecided_tests_are_inconclusive(ended: Ended):
    assert {ended.outcomes[name] for name in QUICK} == {"inconclusive"}


def test_a_slow_test_does_not_starve_the_others(ended: Ended):
    slow = ended.metric("test_slow")["blocks"]
    assert slow >= 1
    assert all(ended.metric(name)["blocks"] >= 2 * slow for name in QUICK)


def test_it_says_how_far_it_came_and_what_to_do(ended: Ended):
    metric = ended.metric("test_one")
    assert 5 <= metric["blocks"] <= 7
    assert "raise --rlperf-budget" in metric["reason"]
    assert f"test_one: inconclusive: {metric['reason']}" in ended.text


def test_inconclusive_is_no_failure(ended: Ended):
    assert ended.code == 0


def test_a_budget_that_is_over_before_anything_was_measured_is_an_error(workshop: Workshop):
    files = {"lib.py": LIBRARY, "tests/test_perf.py": TESTS}
    ended = workshop.project("no-budget", files).measure("--rlperf-budget=0.01")
    assert ended.code == 6
    assert set(ended.outcomes.values()) == {"inconclusive"}
    assert "the budget ran out" in ended.metric("test_two")["reason"]
    assert "rlperf: NOTHING WAS COMPARED with base (" in ended.text


@pytest.mark.parametrize("given", ["soon", "0", "-1", "inf"])
def test_what_is_no_time_is_refused(workshop: Workshop, given: str):
    project = workshop.project(f"budget-{given}", {"test_a.py": ""})
    ended = project.refuse("--rlperf", f"--rlperf-budget={given}")
    assert ended.code == 4
    assert (
        f"ERROR: rlperf: --rlperf-budget is {given!r}, which is no time; write seconds, such as "
        "300." in ended.text.splitlines()
    )
