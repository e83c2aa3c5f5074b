"""Which phase of a test moved: what each adds to the time of the whole call.

In every block a phase takes its share of the side's time. What it adds is the difference between
the sides over the base's whole call, so that the parts of all phases, and of what lies outside of
them, sum up to the change of the test.
"""

import statistics
from collections.abc import Collection, Sequence

from pytest_rlperf.judge.decide import DISAGREE_CONFIDENCE, REPORTED_TAIL
from pytest_rlperf.judge.estimate import estimate
from pytest_rlperf.model.block import LEAST_BLOCKS, Block, SideBlock
from pytest_rlperf.model.phase import OUTSIDE, PhaseResult
from pytest_rlperf.model.verdict import Interval

MATTERS = 0.01
"""Of the whole call."""


def phases_of(blocks: Sequence[Block]) -> tuple[PhaseResult, ...]:
    """Largest first, what lies outside last; empty: head has no phases."""
    heads = [block.head for block in blocks]
    names = dict.fromkeys(name for head in heads for name in head.phases)
    if not names:
        return ()
    found = [_phase(name, blocks) for name in [*names, *_only_on_base(blocks, names)]]
    found.sort(key=lambda phase: -max(phase.share, phase.base_share or 0.0))
    return (*found, _phase(OUTSIDE, blocks))


def _only_on_base(blocks: Sequence[Block], known: Collection[str]) -> list[str]:
    names = dict.fromkeys(name for block in blocks if block.base for name in block.base.phases)
    return [name for name in names if name not in known]


def _phase(name: str, blocks: Sequence[Block]) -> PhaseResult:
    heads = [block.head for block in blocks]
    bases = [block.base for block in blocks if block.base is not None and block.base.phases]
    share, ns = _typical(name, heads)
    if len(bases) < len(blocks):
        return PhaseResult(name, share, ns)
    base_share, base_ns = _typical(name, bases)
    added = [_added(name, head, base) for head, base in zip(heads, bases, strict=True)]
    adds, moved = _judged(added)
    return PhaseResult(name, share, ns, base_share, base_ns, adds, moved)


def _typical(name: str, sides: Sequence[SideBlock]) -> tuple[float, float]:
    share = statistics.median(_share(name, side) for side in sides)
    return share, statistics.median(_share(name, side) * side.call_ns for side in sides)


def _share(name: str, side: SideBlock) -> float:
    if name == OUTSIDE:
        return max(0.0, 1 - sum(side.phases.values()))
    return side.phases.get(name, 0.0)


def _added(name: str, head: SideBlock, base: SideBlock) -> float:
    moved_ns = _share(name, head) * head.call_ns - _share(name, base) * base.call_ns
    return moved_ns / base.call_ns


def _judged(added: Sequence[float]) -> tuple[Interval | None, bool]:
    if len(added) < LEAST_BLOCKS:
        return None, False
    found = estimate(added)
    adds = Interval(found.mean, found.bound(REPORTED_TAIL), found.bound(1 - REPORTED_TAIL))
    return adds, abs(found.mean) > MATTERS and found.excludes_zero(DISAGREE_CONFIDENCE)
