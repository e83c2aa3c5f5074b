"""The flakiest tests of a history, and why they are: their verdicts rest on wide intervals."""

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence

from pytest_rlperf.judge.series import ALLOWED, TIME, Entry
from pytest_rlperf.measure.machine import STEAL_HURTS
from pytest_rlperf.model.history import PastTest
from pytest_rlperf.model.trend import Flaky
from pytest_rlperf.model.verdict import Outcome

RUNS = 20
"""Older ones say little of how a test is now."""
WIDE = 0.5
"""Of the allowed change, half of the interval: with more, a verdict takes many blocks."""
STOLEN = "steal: other machines took the core away"
SLOWING = "drift: slices get slower as a block goes on"
OWN = "its own spread, on a machine that was left alone"


def flakiest(tests: Iterable[PastTest], most: int) -> tuple[Flaky, ...]:
    """Worst first: those that were left undecided most often, then the widest intervals."""
    by_test: dict[str, list[Entry]] = {}
    for test in sorted(tests, key=lambda test: test.created):
        for metric in test.metrics:
            if metric.name == TIME and None not in (metric.low, metric.high):
                by_test.setdefault(test.nodeid, []).append(Entry(test, metric))
    found = [_flaky(entries[-RUNS:]) for entries in by_test.values()]
    shaky = [f for f in found if f.undecided or f.width > WIDE * f.allowed]
    return tuple(sorted(shaky, key=lambda f: (-f.undecided, -f.width / f.allowed))[:most])


def _flaky(entries: Sequence[Entry]) -> Flaky:
    runs = len(entries)
    steal = statistics.median(entry.test.steal or 0.0 for entry in entries)
    drifts = [entry.test.drift for entry in entries if entry.test.drift is not None]
    drift = statistics.median(drifts) if len(drifts) > runs / 2 else None
    undecided = sum(entry.metric.outcome == Outcome.INCONCLUSIVE for entry in entries)
    return Flaky(
        nodeid=entries[-1].test.nodeid,
        metric=TIME,
        runs=runs,
        width=statistics.median(map(_half_width, entries)),
        allowed=entries[-1].metric.threshold or ALLOWED,
        undecided=undecided / runs,
        steal=steal,
        drift=drift,
        causes=tuple(_causes(steal, drift)) or (OWN,),
    )


def _half_width(entry: Entry) -> float:
    low, high = entry.metric.low, entry.metric.high
    return math.inf if low is None or high is None else (high - low) / 2


def _causes(steal: float, drift: float | None) -> Iterator[str]:
    if steal > STEAL_HURTS:
        yield STOLEN
    if drift is not None:
        yield SLOWING
