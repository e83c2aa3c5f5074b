"""`--rlperf-budget` ends a run soon: what it could not decide is inconclusive, and what it cannot
reach is not begun.
"""

import pytest

from pytest_rlperf.model.block import LEAST_BLOCKS

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


def test_a_slow_test_does_not_starve_the_others_and_has_no_blocks_for_nothing(ended: Ended):
    slow = ended.metric("test_slow")["blocks"]
    assert slow == 0 or slow >= LEAST_BLOCKS
    assert all(ended.metric(name)["blocks"] >= slow for name in QUICK)


def test_it_says_how_far_it_came_and_what_to_do(ended: Ended):
    metric = ended.metric("test_one")
    assert 5 <= metric["blocks"] <= 7
    assert "raise --rlperf-budget" in metric["reason"]
    assert f": inconclusive: {metric['reason']}" in ended.text


def test_inconclusive_is_no_failure(ended: Ended):
    assert ended.code == 0


def test_a_budget_that_is_over_before_anything_was_measured_is_an_error(workshop: Workshop):
    files = {"lib.py": LIBRARY, "tests/test_perf.py": TESTS}
    ended = workshop.project("no-budget", files).measure("--rlperf-budget=0.01")
    assert ended.code == 6
    assert set(ended.outcomes.values()) == {"not_measured"}
    assert "the budget of 0.01 s did not reach it" in ended.metric("test_two")["reason"]
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


# -- a suite too large for its budget ------------------------------------------------------------

MANY_TESTS = """
import lib
import pytest

@pytest.mark.parametrize("number", range(30))
def test_many(rlperf, number):
    rlperf(lib.work)
"""
SLOW_BLOCKS = """
if CONTROLLER:
    import time

    from pytest_rlperf.gate import session
    from pytest_rlperf.gate.budget import Budget
    from pytest_rlperf.workers import blocks

    # A scout takes a second and so does a test of a block, but nobody waits for them.
    NOW = [0.0]

    class SlowBlocks(blocks.Blocks):
        def block_s(self, kind, tests_s):
            return tests_s

        def _play(self, *arguments):
            played = yield from super()._play(*arguments)
            NOW[0] += 1.0
            return blocks.replace(played, seconds=1.0)

    session.Blocks = SlowBlocks
    session.Budget = lambda seconds, begun: Budget(seconds, 0.0, lambda: NOW[0])
"""


@pytest.fixture(scope="module")
def large(workshop: Workshop) -> Ended:
    files = {
        "lib.py": LIBRARY,
        "tests/test_perf.py": MANY_TESTS,
        "conftest.py": CONFTEST + SLOW_BLOCKS,
    }
    return workshop.project("budget-many", files).measure("--rlperf-budget=60")


def test_some_tests_are_decided_and_the_others_not_begun(large: Ended):
    blocks = {
        test["nodeid"]: (test["outcome"], test["metrics"][0]["blocks"])
        for test in large.result["tests"]
    }
    assert set(large.outcomes.values()) == {"unchanged", "not_measured"}
    assert all((outcome == "not_measured") == (n == 0) for outcome, n in blocks.values())
    assert 10 <= large.result["summary"]["unchanged"] <= 15  # a scout and three blocks of each
    assert large.code == 0


def test_the_others_are_told_in_one_line_with_the_budget_that_would_do(large: Ended):
    needed = large.result["needed_seconds"]
    assert large.result["budget_seconds"] == 60
    assert 120 <= needed <= 240
    number = large.result["summary"]["not_measured"]
    told = (
        f"{number} tests: not measured: the budget of 60 s did not reach it; all tests need about"
    )
    lines = large.text.splitlines()
    (at,) = [number for number, line in enumerate(lines) if "did not reach it" in line]
    assert lines[at] == f"{told} {needed:.0f} s here: --rlperf-budget={needed:.0f}"
    assert lines[at + 1].endswith(f" and {number - 3} more")


def test_a_run_that_decided_few_says_so_in_its_last_line(large: Ended):
    decided, needed = large.result["summary"]["unchanged"], large.result["needed_seconds"]
    said = [line for line in large.text.splitlines() if line.startswith("rlperf: ")]
    cure = f"--rlperf-budget={needed:.0f} would do."
    assert said[-1] == f"rlperf: only {decided} of 30 tests were decided; {cure}"


def test_strict_fails_what_was_not_measured(workshop: Workshop):
    files = {
        "lib.py": LIBRARY,
        "tests/test_perf.py": MANY_TESTS.replace("30", "3"),
        "conftest.py": CONFTEST + SLOW_BLOCKS,
    }
    ended = workshop.project("budget-strict", files).measure("--rlperf-budget=8", "--rlperf-strict")
    assert set(ended.outcomes.values()) == {"unchanged", "not_measured"}
    assert ended.code == 1
