"""A plan for a duet with the reference kernels: how long each of them plays in a slice."""

from collections.abc import Mapping
from dataclasses import replace

from pytest_rlperf.model.plan import Plan, Scouted

PIECE_NS = 1_000_000
"""A kernel plays about so long before the next one has its turn: far shorter than the bursts of a
neighbour, far longer than it takes to read the clock and to fill the caches again.
"""


def with_kernels(plan: Plan, seen: Scouted, unit_ns: Mapping[str, float]) -> Plan:
    """`plan` with all kernels in every slice, together as long as the test's own."""
    slice_ns = plan.calls * seen.call_ns
    rounds = max(1, round(slice_ns / (PIECE_NS * len(unit_ns))))
    piece_ns = slice_ns / (rounds * len(unit_ns))
    calls = tuple((name, max(1, round(piece_ns / ns))) for name, ns in sorted(unit_ns.items()))
    # A stored ratio is that of slices which met their kernels, all of them, from beginning to end.
    return replace(plan, kernels=calls, kernel_rounds=rounds, abreast=False)
