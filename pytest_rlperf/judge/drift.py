"""Within-run drift: do the slices of a block get slower as it goes on?

A buffer that grows with every call, or a leak, makes each slice a little slower than the last one.
Both sides may do so alike, and then the change between them does not show it. The slope of a
block is the median over pairs of slices half a block apart (the incomplete method of Theil, Proc.
Kon. Ned. Akad. Wet. 53, 1950): a disturbed slice enters two pairs at most. Blocks are combined as
everywhere (see `estimate`), so a machine that slows down now and then widens the interval.
"""

import math
import statistics
from collections.abc import Sequence

from pytest_rlperf.judge.decide import REPORTED_TAIL
from pytest_rlperf.judge.estimate import estimate
from pytest_rlperf.model.block import LEAST_BLOCKS, Block, SideBlock
from pytest_rlperf.model.drift import Drift, SideDrift
from pytest_rlperf.model.verdict import Interval

LEAST_SLICES = 4
"""Fewer have no slope worth the name."""
MATTERS = 0.03
"""From the first slice to the last, a fraction: less changes no verdict."""
DOUBT = 0.01


def drift_of(blocks: Sequence[Block]) -> Drift | None:
    """None: there are too few blocks, or slices in them."""
    long = [block for block in blocks if len(block.head.own_ns) >= LEAST_SLICES]
    if len(long) < LEAST_BLOCKS:
        return None
    slices = min(len(block.head.own_ns) for block in long)
    bases = [block.base for block in long if block.base is not None]
    return Drift(
        slices=slices,
        head=_side([block.head for block in long], slices),
        base=_side(bases, slices) if len(bases) == len(long) else None,
    )


def slope(times: Sequence[float]) -> float:
    """Of the logarithm, a slice."""
    logs = [math.log(time) for time in times]
    apart = (len(logs) + 1) // 2
    pairs = zip(logs, logs[apart:], strict=False)
    return statistics.median(late - early for early, late in pairs) / apart


def _side(blocks: Sequence[SideBlock], slices: int) -> SideDrift:
    """Blocks differ in length, and what grows need not grow evenly: so of each the same slices
    are looked at.
    """
    found = estimate([slope(block.own_ns[:slices]) * (slices - 1) for block in blocks])
    bounds = (found.mean, found.bound(REPORTED_TAIL), found.bound(1 - REPORTED_TAIL))
    return SideDrift(
        change=Interval(*map(math.expm1, bounds)),
        matters=math.expm1(found.bound(DOUBT)) > MATTERS,
    )
