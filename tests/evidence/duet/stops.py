"""Which way unchanged commands read by when their duet ends, where nothing but chance moves them.

A duet ends as soon as it is sure that a command is not slower than allowed. So those that end soon
are those that happened to read faster, and the others go on.
"""

import random
from collections.abc import Iterator, Sequence
from statistics import fmean

from pytest_rlperf.model.block import LogRatios
from pytest_rlperf.stats.decide import Decision, Gate, decide
from tests.evidence.duet.play import LIMIT, SOON

SPREADS = (0.01, 0.02, 0.04, 0.065)
"""Of the blocks of a command against itself."""
LANES = 2
"""Blocks that are played at once."""


def ended(rng: random.Random, spread: float) -> Decision:
    """Return the decision on one unchanged command."""
    gate = Gate(LIMIT)
    blocks: list[LogRatios] = []
    while True:
        draws = [rng.gauss(0.0, spread) for _ in range(LANES)]
        blocks += [LogRatios(draw, draw) for draw in draws]
        decision = decide(blocks, gate)
        if decision.outcome is not None:
            return decision


def stops(runs: int) -> Iterator[str]:
    """Yield a row for each spread as Markdown."""
    yield "| blocks spread by | all | ended soon | later | the interval held 0 |"
    yield "|---|---|---|---|---|"
    for spread in SPREADS:
        rng = random.Random(f"{spread}")
        decisions = [ended(rng, spread) for _ in range(runs)]
        soon = [_change(d) for d in decisions if d.blocks <= SOON]
        late = [_change(d) for d in decisions if d.blocks > SOON]
        held = sum(
            d.interval is not None and d.interval.low <= 0 <= d.interval.high for d in decisions
        )
        shown = " | ".join(map(_mean, ([*soon, *late], soon, late)))
        yield f"| {spread:.1%} | {shown} | {held} of {runs} |"


def _holds_zero(decision: Decision) -> bool:
    assert decision.interval is not None
    return decision.interval.low <= 0 <= decision.interval.high


def _change(decision: Decision) -> float:
    assert decision.interval is not None
    return decision.interval.change


def _mean(changes: Sequence[float]) -> str:
    return f"{fmean(changes):+.1%} of {len(changes)}" if changes else "none"
