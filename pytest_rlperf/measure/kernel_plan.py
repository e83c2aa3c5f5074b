"""A plan for a duet with the reference kernels: how long each of them plays in a slice."""

from collections.abc import Mapping
from dataclasses import replace

from pytest_rlperf.measure.kernels import PIECE_CALLS
from pytest_rlperf.model.plan import Plan, Scouted

LONG_SLICE_NS = 4_000_000
LONGER = 3
"""Times the calls of a piece where slices are long: a kernel plays about a millisecond then before
the next one has its turn. That is far shorter than the bursts of a neighbour.
"""


def with_kernels(plan: Plan, seen: Scouted, unit_ns: Mapping[str, float]) -> Plan:
    """`plan` with all kernels in every slice, together about as long as the test's own.

    Who has its turn fills the caches again, so a call of a shorter piece takes longer: a gather of
    half as many calls by 9 to 14 %. Hence the calls of a piece are given, and only the number of
    pieces follows from times, which no two sessions find alike.
    """
    slice_ns = plan.calls * seen.call_ns
    times = LONGER if slice_ns >= LONG_SLICE_NS else 1
    calls = {name: times * PIECE_CALLS[name] for name in sorted(unit_ns)}
    round_ns = sum(calls[name] * ns for name, ns in unit_ns.items())
    # A stored ratio is that of slices which met their kernels, all of them, from beginning to end.
    return replace(
        plan,
        kernels=tuple(calls.items()),
        kernel_rounds=max(1, round(slice_ns / round_ns)),
        abreast=False,
    )
