"""Which phase of a test moved, by what each adds to the time of the whole call; and drift.

In every block a phase takes its share of the side's time. What it adds is the difference between
the sides over the base's whole call, so that the parts of all phases, and of what lies outside of
them, sum up to the change of the test.
"""

import math
import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from pytest_rlperf.model.block import (
    LEAST_BLOCKS,
    OUTSIDE,
    Block,
    Drift,
    PhaseResult,
    SideBlock,
    SideDrift,
)
from pytest_rlperf.model.metric import Interval
from pytest_rlperf.model.quantity import format_percent, format_time
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.report.text import Rows, aligned, render_interval, time_title
from pytest_rlperf.stats.decide import DISAGREE_CONFIDENCE, REPORTED_TAIL
from pytest_rlperf.stats.estimate import estimate

PHASE_MATTERS = 0.01
"""The share of the whole call that a phase must add to be worth a word."""


def phases_of(blocks: Sequence[Block]) -> tuple[PhaseResult, ...]:
    """Largest first, what lies outside last; empty: head has no phases."""
    heads = [block.head for block in blocks]
    names = dict.fromkeys(name for head in heads for name in head.phases)
    if not names:
        return ()
    phases = [_phase(name, blocks) for name in [*names, *_only_on_base(blocks, names)]]
    phases.sort(key=lambda phase: -max(phase.share, phase.base_share or 0.0))
    return (*phases, _phase(OUTSIDE, blocks))


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
    change = estimate(added)
    adds = Interval(change.mean, change.bound(REPORTED_TAIL), change.bound(1 - REPORTED_TAIL))
    return adds, abs(change.mean) > PHASE_MATTERS and change.excludes_zero(DISAGREE_CONFIDENCE)


# -- drift: whether the slices of a block get slower as it goes on ------------------------------
#
# A buffer that grows with every call, or a leak, makes each slice a little slower than the last
# one. Both sides may do so alike, and then the change between them does not show it. The slope of
# a block is the median over pairs of slices half a block apart (the incomplete method of Theil,
# Proc. Kon. Ned. Akad. Wet. 53, 1950): a disturbed slice enters two pairs at most. Blocks are
# combined as everywhere (see `estimate`), so a machine that slows down now and then widens the
# interval.

LEAST_SLICES = 4
"""Fewer have no slope worth the name."""
DRIFT_MATTERS = 0.03
"""From the first slice to the last, a fraction: less changes no verdict."""
DOUBT = 0.01


def drift_of(blocks: Sequence[Block]) -> Drift | None:
    """Return the drift of both sides; None: there are too few blocks, or slices in them."""
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
    """Return by how much the logarithm grows from slice to slice."""
    logs = [math.log(time) for time in times]
    apart = (len(logs) + 1) // 2
    pairs = zip(logs, logs[apart:], strict=False)
    return statistics.median(late - early for early, late in pairs) / apart


def _side(blocks: Sequence[SideBlock], slices: int) -> SideDrift:
    """Look at the same slices of each: blocks differ in length, and growth need not be even."""
    change = estimate([slope(block.own_ns[:slices]) * (slices - 1) for block in blocks])
    bounds = (change.mean, change.bound(REPORTED_TAIL), change.bound(1 - REPORTED_TAIL))
    return SideDrift(
        change=Interval(*map(math.expm1, bounds)),
        matters=math.expm1(change.bound(DOUBT)) > DRIFT_MATTERS,
    )


# -- phases as text -----------------------------------------------------------------------------


def render_phase_table(run: RunResult) -> list[str]:
    return aligned(phase_rows(run.tests, run.against))


def phase_rows(tests: Iterable[TestResult], against: str | None) -> Rows:
    """Test by test, the largest phase first."""
    rows = [_row(phase, test) for test in tests for phase in test.phases]
    title = ["", "phase", "share", "adds", "95 % interval", time_title(against), "test"]
    return [title, *rows] if rows else []


def _row(phase: PhaseResult, test: TestResult) -> list[str]:
    return [
        "moved" if phase.moved else "",
        phase.name,
        _between(phase.base_share, phase.share, _render_share),
        format_percent(phase.adds.change) if phase.adds else "",
        render_interval(phase.adds) if phase.adds else "",
        _between(phase.base_ns, phase.ns, format_time),
        test.nodeid,
    ]


def _render_share(value: float) -> str:
    return f"{100 * value:.0f} %"


def _between(base: float | None, head: float, shown: Callable[[float], str]) -> str:
    return shown(head) if base is None else f"{shown(base)} → {shown(head)}"


def render_moved(test: TestResult) -> Iterator[str]:
    """Yield the phases that made a failing test slower or faster, most first."""
    moved = [(p.adds, p.name) for p in test.phases if p.moved and p.adds is not None]
    moved.sort(key=lambda each: -abs(each[0].change))
    if moved:
        parts = [f"{name} adds {format_percent(adds.change)}" for adds, name in moved]
        yield f"  phases: {', '.join(parts)} of the whole call"


# -- drift as text ------------------------------------------------------------------------------


def render_drift(drift: Drift | None) -> str | None:
    """Return a sentence where head's slices get slower; None: they do not."""
    if drift is None or not drift.head.matters:
        return None
    change = drift.head.change
    text = (
        f"slices get slower as a block goes on: {format_percent(change.change)} "
        f"{render_interval(change)} from the first to the last of {drift.slices}"
    )
    return text if drift.base is None else f"{text}; {_base_drift(drift.base)}"


def _base_drift(base: SideDrift) -> str:
    change = format_percent(base.change.change)
    return f"so they do on the base ({change})" if base.matters else f"not on the base ({change})"
