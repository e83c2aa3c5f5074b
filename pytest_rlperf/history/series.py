"""From a test's history to levels that can be compared, on the most reliable ground it offers.

Times of different hours differ by tens of percent on a shared machine, so plain times are the last
resort, and nothing is claimed from them. In order of preference, where they cover as many commits:

- Time over the reference kernels that played in the same slices. The error of a point, about 2 %,
  stays its own, so a long history is as sharp at its end as at its beginning.
- Duets of every commit with one and the same: the same advantage, and each point is sharper.
- Duets of every commit with the one before. A single change is seen best here, but the error of the
  level grows with every link of the chain.

Sizes in bytes are compared as they are, and so is what was learned, on whichever machine: seeds are
no hours. A commit that learned the same as its base, bit for bit, has its level, since it was
trained with three seeds and no more. Levels are logarithms; higher is worse.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from pytest_rlperf.baselines.levels import CLOCK
from pytest_rlperf.history.records import PastMetric, PastTest, Signal
from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.metric import LEARNED, Outcome
from pytest_rlperf.stats.decide import REPORTED_TAIL
from pytest_rlperf.stats.estimate import Estimate, freedom, t_quantile

TIME = "time"
SIZE_UNIT = "bytes"
TIME_UNIT = "ns"
LEAST_POINTS = 2
"""One is no series."""
ALLOWED = 0.05
"""The change that is allowed, where the history does not say."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One metric of one line of the history."""

    test: PastTest
    metric: PastMetric

    @property
    def surroundings(self) -> tuple[str, ...]:
        """The facts that must be alike for levels to be compared."""
        return self.test.machine, self.test.python, self.test.source_hash


@dataclass(frozen=True, slots=True)
class Point:
    """The level of one commit."""

    entry: Entry
    level: float
    link: Estimate | None = None  # of a chain: what the level rose by since the point before

    @property
    def commit(self) -> str:
        return self.entry.test.commit


@dataclass(frozen=True, slots=True)
class Series:
    """One metric of one test, oldest first."""

    signal: Signal
    points: tuple[Point, ...]
    left_out: int  # commits that cannot be compared with the newest

    @property
    def newest(self) -> Entry:
        return self.points[-1].entry

    @property
    def allowed(self) -> float:
        return self.newest.metric.threshold or ALLOWED

    @property
    def levels(self) -> list[float]:
        return [point.level for point in self.points]


def all_series(tests: Iterable[PastTest]) -> list[Series]:
    """Make a series of every metric that can have one."""
    entries: dict[tuple[str, str], list[Entry]] = {}
    for test in _in_order(tests):
        for metric in test.metrics:
            amount = metric.unit in (TIME_UNIT, SIZE_UNIT) and metric.value > 0
            if amount or (metric.name in LEARNED and metric.value):
                entries.setdefault((test.nodeid, metric.name), []).append(Entry(test, metric))
    return [_series(group) for group in entries.values()]


def _in_order(tests: Iterable[PastTest]) -> list[PastTest]:
    """Order tests by date; what was appended from two clones counts once."""
    once = {(test.nodeid, test.commit, test.created): test for test in tests}
    moment = datetime.fromisoformat
    return sorted(once.values(), key=lambda test: (moment(test.date), moment(test.created)))


def _series(entries: Sequence[Entry]) -> Series:
    if entries[-1].metric.name in LEARNED:
        signal, points = Signal.RETURNS, _returns(entries)
    elif entries[-1].metric.unit == SIZE_UNIT:
        signal, points = Signal.SIZE, _plain(entries)
    else:
        candidates = {
            Signal.REFERENCE: _reference(entries),
            Signal.FIXED: _fixed(entries),
            Signal.CHAIN: _chain(entries),
        }
        # Of those that are equally long, max takes the first.
        signal, points = max(candidates.items(), key=lambda candidate: len(candidate[1]))
        plain = _plain(entries)
        if len(points) < LEAST_POINTS and len(plain) > len(points):
            signal, points = Signal.CLOCK, plain
    commits = {entry.test.commit for entry in entries}
    return Series(signal, tuple(points), len(commits) - len(points))


def _plain(entries: Sequence[Entry]) -> list[Point]:
    return _by_commit((entry, _cost(entry.metric)) for entry in _alike(entries))


def _returns(entries: Sequence[Entry]) -> list[Point]:
    """Take those of the newest test's text and sign: from -200 to -300 a return got worse by half,
    and between a return below zero and one above there is no such share.
    """
    newest = entries[-1]
    levels: dict[str, float] = {}
    points = []
    for entry in entries:
        test, metric = entry.test, entry.metric
        same_sign = (metric.value > 0) == (newest.metric.value > 0)
        if same_sign and test.source_hash == newest.test.source_hash:
            level = _cost(metric)
            if metric.outcome == Outcome.IDENTICAL:
                level = levels.get(test.base or "", level)
            levels[test.commit] = level
            points.append((entry, level))
    return _by_commit(points)


def _cost(metric: PastMetric) -> float:
    """Return the logarithm of an amount, higher being worse; of one below zero that is its size."""
    is_cost = (metric.direction == "lower") == (metric.value > 0)
    return math.log(abs(metric.value)) * (1 if is_cost else -1)


def _alike(entries: Sequence[Entry]) -> list[Entry]:
    """Pick those in the surroundings of the newest."""
    return [entry for entry in entries if entry.surroundings == entries[-1].surroundings]


def _by_commit(levels: Iterable[tuple[Entry, float]]) -> list[Point]:
    """Make one point of several results of a commit, at their mean."""
    by_commit: dict[str, list[tuple[Entry, float]]] = {}
    for entry, level in levels:
        by_commit.setdefault(entry.test.commit, []).append((entry, level))
    return [
        Point(same[-1][0], statistics.fmean(level for _, level in same))
        for same in by_commit.values()
    ]


def _reference(entries: Sequence[Entry]) -> list[Point]:
    played = [e for e in entries if e.metric.name == TIME and e.test.reference is not None]
    if not played:
        return []
    alike = _alike(played)
    weights = _unit_weights(alike)
    levels = []
    for entry in alike:
        reference, newest = entry.test.reference, alike[-1].test.reference
        assert reference is not None
        assert newest is not None
        if reference.edition == newest.edition and weights.keys() <= reference.log_ratios.keys():
            ratios = reference.log_ratios
            levels.append((entry, sum(w * ratios[kernel] for kernel, w in weights.items())))
    return _by_commit(levels)


def _unit_weights(entries: Sequence[Entry]) -> dict[str, float]:
    """Use the unit that was chosen last for all: a unit that changed on the way would be a change
    of level. Where none was, use equal parts of all kernels.
    """
    for entry in reversed(entries):
        reference = entry.test.reference
        if reference is not None and reference.weights:
            return dict(reference.weights)
    newest = entries[-1].test.reference
    assert newest is not None
    kernels = newest.log_ratios.keys() - {CLOCK}
    return dict.fromkeys(kernels, 1 / len(kernels)) if kernels else {CLOCK: 1.0}


def _fixed(entries: Sequence[Entry]) -> list[Point]:
    duets = _duets(entries)
    same = [entry for entry in duets if entry.test.base == duets[-1].test.base]
    return _by_commit((entry, link_of(entry.metric).mean) for entry in same)


def _chain(entries: Sequence[Entry]) -> list[Point]:
    """Go back from the newest, from each commit to its base, until that was not measured."""
    duets = _duets(entries)
    latest = {entry.test.commit: entry for entry in duets}
    path: list[Entry] = []
    entry = duets[-1] if duets else None
    while entry is not None:
        path.insert(0, entry)
        del latest[entry.test.commit]  # a chain that bites its own tail ends
        entry = latest.get(entry.test.base or "")
    points, level = [], 0.0
    for entry in path:
        link = link_of(entry.metric)
        level += link.mean
        points.append(Point(entry, level, link))
    return points


def _duets(entries: Sequence[Entry]) -> list[Entry]:
    return [
        entry
        for entry in entries
        if entry.test.base is not None
        and None not in (entry.metric.change, entry.metric.low, entry.metric.high)
        and entry.metric.blocks >= LEAST_BLOCKS
    ]


def link_of(metric: PastMetric) -> Estimate:
    """Estimate a duet's change, with the standard error behind its interval."""
    assert metric.change is not None
    assert metric.low is not None
    assert metric.high is not None
    free = freedom(metric.blocks)
    width = math.log1p(metric.high) - math.log1p(metric.low)
    error = width / 2 / t_quantile(1 - REPORTED_TAIL, free)
    return Estimate(math.log1p(metric.change), error, free)
