"""Histories of tests whose true changes are known, with the noise of real ones."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from pytest_rlperf.history.records import PastTest
from pytest_rlperf.model.block import ReferenceTime
from pytest_rlperf.stats.decide import LATE_LOOK, Gate, decide
from tests.factories import a_past, a_past_metric, noisy_ratios

SESSION_SPREAD = 0.02
"""Of the level of a run in reference units (see `judge.stored`)."""
ROGUE_SPREAD = 0.15
"""Of a run that met something that no kernel follows."""
BLOCK_SPREAD = 0.016
"""Of a block of a duet (docs/measuring.md)."""
SUITE = 20
"""Tests of the build that a duet belongs to."""


def commit_name(number: int) -> str:
    """Told apart by its first letters, as real ones are."""
    return f"{number:07x}".ljust(40, "0")


def number_of(commit: str) -> int:
    return int(commit[:7], 16)


def dated(number: int) -> str:
    return (datetime(2030, 1, 1, tzinfo=UTC) + timedelta(days=number)).isoformat()


def in_reference_units(
    rng: random.Random,
    levels: Sequence[float],
    nodeid: str = "test_a.py::test_a",
    *,
    rogue: float = 0.0,
) -> list[PastTest]:
    """One commit a level, a share of them far off; plain times wander as hours do."""
    return [
        a_past(
            commit_name(number),
            nodeid,
            created=dated(number),
            mode="stored",
            reference=ReferenceTime(1, {"interpreter": seen, "clock": 14.0}, {"interpreter": 1.0}),
            metrics=(a_past_metric(value=1e6 * rng.uniform(0.8, 1.4), threshold=0.1),),
        )
        for number, level in enumerate(levels)
        for spread in [ROGUE_SPREAD if rng.random() < rogue else SESSION_SPREAD]
        for seen in [rng.gauss(level, spread)]
    ]


def in_duets(
    rng: random.Random,
    levels: Sequence[float],
    nodeid: str = "test_a.py::test_a",
    *,
    fixed: bool = False,
) -> list[PastTest]:
    """Each commit against the one before, or all against the first; decided as a gate does it."""
    found = []
    for number in range(1, len(levels)):
        base = 0 if fixed else number - 1
        gate = Gate(0.05, SUITE)
        blocks = noisy_ratios(rng, 2 * LATE_LOOK, levels[number] - levels[base], BLOCK_SPREAD)
        said = decide(blocks, gate, exhausted=True)
        assert said.interval is not None
        assert said.outcome is not None
        metric = a_past_metric(
            value=1e6 * rng.uniform(0.8, 1.4),
            change=said.interval.change,
            low=said.interval.low,
            high=said.interval.high,
            threshold=gate.threshold,
            outcome=said.outcome.value,
            blocks=said.blocks,
        )
        found.append(
            a_past(
                commit_name(number),
                nodeid,
                created=dated(number),
                base=commit_name(base),
                metrics=(metric,),
            )
        )
    return found
