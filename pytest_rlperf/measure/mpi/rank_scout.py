"""The first look at a benchmark in ranks, which must make equally many calls."""

from typing import Any

from pytest_rlperf.measure.clock import Clock, Elapsed
from pytest_rlperf.measure.loop import Calls
from pytest_rlperf.measure.planning import MOST_CALLS, SETUP_CALLS_MAX
from pytest_rlperf.measure.scout import ENOUGH_NS, ENOUGH_SETUP_NS, LONG_CALL_NS

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these


def scout_ranks(calls: Calls, clock: Clock, world: Any) -> tuple[dict[str, float], Any]:
    """What a plan is chosen by (see `model.Scouted`): of the slowest rank in each respect."""
    first, result = _timed(calls, 1, clock, world)
    number, taken = 1, first
    most = SETUP_CALLS_MAX if calls.has_setup else MOST_CALLS
    if first.own_ns < LONG_CALL_NS:  # a longer one is its own estimate
        taken, result = _timed(calls, 1, clock, world)
        while (
            taken.own_ns < ENOUGH_NS and number < most and number * calls.setup_ns < ENOUGH_SETUP_NS
        ):
            number = min(most, number * (4 if taken.own_ns < ENOUGH_NS // 8 else 2))
            taken, result = _timed(calls, number, clock, world)
    return {
        "first_ns": float(first.own_ns),
        "call_ns": taken.own_ns / number,
        "cpu_share": min(1.0, taken.cpu_ns / taken.own_ns),
        "processes": world.Get_size(),
        "has_setup": calls.has_setup,
        "setup_ns": calls.setup_ns,
        "rounds": 0,
        "iterations": 1,
        "warmup": 0,
    }, result


def _timed(calls: Calls, number: int, clock: Clock, world: Any) -> tuple[Elapsed, Any]:
    """All ranks get the same answer, or they would go on differently."""
    elapsed, result = calls.timed(number, clock)
    seen = world.allgather((*elapsed, calls.setup_ns))
    wall, cpu, delay, setup = (max(values) for values in zip(*seen, strict=True))
    calls.setup_ns = setup
    return Elapsed(wall, cpu, min(delay, *(each[2] for each in seen))), result
