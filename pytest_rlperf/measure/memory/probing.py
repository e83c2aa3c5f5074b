"""What a worker does where memory is asked for, instead of timing slices."""

from typing import Any

from pytest_rlperf.measure.loop import Calls
from pytest_rlperf.measure.memory import exact, resident, traced
from pytest_rlperf.measure.rounds import Rounds
from pytest_rlperf.model.memory import Pass, Probe

LOOKS = {Pass.RESIDENT: resident.look, Pass.TRACED: traced.look, Pass.EXACT: exact.look}

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these


def probe(order: Probe, calls: Calls | Rounds) -> tuple[dict[str, Any], Any]:
    """The facts, and what the last call returned."""
    repeats = order.repeats
    if isinstance(calls, Rounds):  # the test counts its calls
        repeats = min(repeats, calls.warmup + calls.rounds)
    facts, result = LOOKS[order.look](calls.once, repeats)
    return {**facts, "look": order.look, "repeats": repeats}, result
