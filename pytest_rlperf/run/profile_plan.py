"""How the slices of a test are profiled, given how they were timed."""

from dataclasses import replace

from pytest_rlperf.model.plan import Mode, Plan, Scouted
from pytest_rlperf.model.profile import Profiling

SLICES = (9, 24)
"""Of a process; every third has its stacks sampled."""
PROCESS_NS = 1.2e9
"""Aim for one test in one process."""
SLOWED = 4
"""Times that profiled code may take."""


def function_plan(plan: Plan, seen: Scouted) -> Plan:
    """In turns: side by side, the other side's time would be in every function's."""
    mode = Mode.LIVE if plan.mode is Mode.LIVE else Mode.SLICED
    profiled = replace(plan.without_starts, mode=mode, abreast=False, profile=Profiling.FUNCTIONS)
    if plan.exact:  # the test counts its calls
        return profiled
    slice_ns = plan.calls * (SLOWED * seen.call_ns + seen.setup_ns)
    least, most = SLICES
    return replace(profiled, pairs=max(least, min(most, round(PROCESS_NS / max(1.0, slice_ns)))))


def line_plan(plan: Plan, seen: Scouted, function: str) -> Plan:
    return replace(function_plan(plan, seen), profile=Profiling.LINES, lines_of=function)
