"""How many slices are profiled, and how."""

import pytest

from pytest_rlperf.model.plan import Mode, Plan, Scouted
from pytest_rlperf.model.profile import Profiling
from pytest_rlperf.run.profile_plan import SLICES, function_plan, line_plan

MS = 10**6
PLAN = Plan(Mode.CONCURRENT, calls=1, pairs=8, warmup=2, abreast=True)


def seen(call_ms: float, setup_ms: float = 0.0) -> Scouted:
    return Scouted(
        call_ns=call_ms * MS, first_ns=MS, cpu_share=1.0, processes=1, setup_ns=setup_ms * MS
    )


def test_sides_that_ran_at_once_take_turns():
    plan = function_plan(PLAN, seen(10))
    assert (plan.mode, plan.profile, plan.warmup) == (Mode.SLICED, Profiling.FUNCTIONS, 2)


@pytest.mark.parametrize(
    ("call_ms", "setup_ms", "pairs"),
    [(1, 0, SLICES[1]), (25, 0, 12), (10, 60, 12), (5_000, 0, SLICES[0])],
)
def test_long_calls_have_fewer_slices(call_ms: float, setup_ms: float, pairs: int):
    assert function_plan(PLAN, seen(call_ms, setup_ms)).pairs == pairs


def test_a_test_that_counts_its_calls_keeps_their_number():
    exact = Plan(Mode.SLICED, calls=3, pairs=2, warmup=0, exact=True)
    plan = function_plan(exact, seen(1))
    assert (plan.calls, plan.pairs) == (3, 2)


def test_lines_are_those_of_the_named_function():
    plan = line_plan(PLAN, seen(10), "agent.py:learn")
    assert (plan.profile, plan.lines_of) == (Profiling.LINES, "agent.py:learn")
    assert Plan.from_dict(plan.as_dict()) == plan
