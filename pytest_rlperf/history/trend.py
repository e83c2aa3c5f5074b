"""The trend of every test in a history: change points, creep, the last few points, flaky tests.

Creep is many small changes that each pass, and together are more than one may be. Only windows that
end at the newest commit are looked at: the whole, its last half, the half of that and so on. A
creep of twenty commits is lost in two hundred, and few windows need little correction. A creep is
reported where it is beyond doubt that the level rose at all, and the rise comes to more than is
allowed of a single change. The doubt is that of a build, corrected for the windows and for the
series that are looked at (Bonferroni).

Over levels with errors of their own it is the slope of a straight line, by least squares. Over a
chain of duets it is the sum of its changes: the errors of its links add up as they do, with the
degrees of freedom of Welch and Satterthwaite (Biometrics Bull. 2, 1946). A change that its own run
called is known already, and left out of the sum.
"""

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_rlperf.history.records import (
    ChangePoint,
    Creep,
    Flaky,
    PastTest,
    Recent,
    Signal,
    Trend,
    TrendPoint,
)
from pytest_rlperf.history.series import ALLOWED, TIME, Entry, Point, Series, all_series
from pytest_rlperf.machine.host import STEAL_HURTS
from pytest_rlperf.model.metric import Interval, Outcome
from pytest_rlperf.stats.change_points import find_steps, line_through, squares, tamed
from pytest_rlperf.stats.decide import BUILD_LEVEL, reported
from pytest_rlperf.stats.estimate import Estimate, t_cdf

# -- trends -------------------------------------------------------------------------------------

CALLED = frozenset({Outcome.REGRESSED, Outcome.ACCEPTED, Outcome.IMPROVED})
"""Outcomes of a duet that say that something changed there."""


def trends(tests: Iterable[PastTest]) -> tuple[Trend, ...]:
    """Find the trend of every test and metric, in this order."""
    ordered = sorted(all_series(tests), key=lambda s: (s.newest.test.nodeid, s.newest.metric.name))
    return tuple(_trend(series, len(ordered)) for series in ordered)


def _trend(series: Series, together: int) -> Trend:
    changes = _changes(series, together)
    test, metric = series.newest.test, series.newest.metric
    return Trend(
        nodeid=test.nodeid,
        category=test.category,
        metric=metric.name,
        unit=metric.unit,
        signal=series.signal,
        points=tuple(_point(point, series.points[0].level) for point in series.points),
        changes=changes,
        creep=_creep(series, changes or (), together),
        recent=recent_of(series),
        left_out=series.left_out,
    )


def _point(point: Point, first: float) -> TrendPoint:
    test, metric = point.entry.test, point.entry.metric
    level = math.expm1(point.level - first)
    return TrendPoint(test.commit, test.date, metric.value, level, metric.outcome)


def _changes(series: Series, together: int) -> tuple[ChangePoint, ...] | None:
    if series.signal is Signal.CLOCK:
        return ()
    if series.signal is Signal.CHAIN:
        return tuple(_called(series.points))
    steps = find_steps(tamed(series.levels), together)
    if steps is None:
        return None
    commits = [point.commit for point in series.points]
    return tuple(
        ChangePoint(commits[step.earliest - 1], commits[step.latest], step.index, step.change)
        for step in steps
    )


def _called(points: Sequence[Point]) -> Iterable[ChangePoint]:
    """Yield the changes of a chain: each has a duet of its own, which has given its verdict."""
    for index, point in enumerate(points):
        metric, base = point.entry.metric, point.entry.test.base
        if _is_called(point):
            assert base is not None
            assert metric.change is not None
            assert metric.low is not None
            assert metric.high is not None
            change = Interval(metric.change, metric.low, metric.high)
            yield ChangePoint(base, point.commit, index, change)


def _is_called(point: Point) -> bool:
    return point.entry.metric.outcome in CALLED


def _creep(series: Series, changes: Sequence[ChangePoint], together: int) -> Creep | None:
    if series.signal is Signal.CLOCK:
        return None
    if series.signal is Signal.CHAIN:
        quiet = [point for point in series.points if not _is_called(point)]
        links = [point.link for point in quiet if point.link is not None]
        rise = creep_of_links(links, series.allowed, together)
        since = quiet[rise.start].entry.test.base if rise else None
        points: Sequence[Point] = quiet
    else:
        start = changes[-1].index if changes else 0
        points = series.points[start:]
        rise = creep_of_levels(tamed(series.levels)[start:], series.allowed, together)
        since = points[rise.start].commit if rise else None
    if rise is None or since is None:
        return None
    return Creep(
        since=since,
        until=points[-1].commit,
        commits=len(points) - rise.start,
        change=rise.change,
        allowed=series.allowed,
    )


# -- creep --------------------------------------------------------------------------------------

SHORTEST = 8
"""Points or links. A faster rise than of half the allowed change a commit is a step, or two."""


@dataclass(frozen=True, slots=True)
class Rise:
    """A rise from the point or link `start` to the last."""

    start: int
    change: Interval


def creep_of_levels(levels: Sequence[float], allowed: float, series: int) -> Rise | None:
    windows = list(_windows(len(levels)))
    for start in windows:
        line = line_through(levels[start:])
        apart = len(levels) - 1 - start
        total = Estimate(line.slope * apart, line.error * apart, line.freedom)
        if _is_rise(total, allowed, series * len(windows)):
            return Rise(start, reported(total))
    return None


def creep_of_links(links: Sequence[Estimate], allowed: float, series: int) -> Rise | None:
    windows = list(_windows(len(links)))
    for start in windows:
        total = weighted_sum(links[start:], [1.0] * (len(links) - start))
        if _is_rise(total, allowed, series * len(windows)):
            return Rise(start, reported(total))
    return None


def _windows(number: int) -> Iterator[int]:
    """Yield where each window begins, the longest first."""
    length = number
    while length >= SHORTEST:
        yield number - length
        length //= 2


def _is_rise(total: Estimate, allowed: float, looks: int) -> bool:
    if total.mean <= math.log1p(allowed):
        return False
    doubt = t_cdf(-total.mean / total.error, total.freedom) if total.error else 0.0
    return doubt * looks <= BUILD_LEVEL


def weighted_sum(links: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """Add independent estimates up."""
    pairs = list(zip(links, weights, strict=True))
    parts = [(w * link.error) ** 2 for link, w in pairs]
    variance = math.fsum(parts)
    doubts = math.fsum(part**2 / link.freedom for part, (link, _) in zip(parts, pairs, strict=True))
    free = int(variance**2 / doubts) if doubts else sum(link.freedom for link in links)
    return Estimate(
        math.fsum(w * link.mean for link, w in pairs), math.sqrt(variance), max(1, free)
    )


# -- the last few points ------------------------------------------------------------------------

LAST = 3


def recent_of(series: Series) -> Recent | None:
    """Hold the last points against those before; None: there is nothing before them."""
    earlier, last = series.levels[:-LAST], series.levels[-LAST:]
    if not earlier:
        return None
    change = statistics.fmean(last) - statistics.fmean(earlier)
    links = [point.link for point in series.points if point.link is not None]
    if series.signal is Signal.CLOCK:
        interval = None
    elif links:
        interval = reported(weighted_sum(links, _link_weights(len(links))))
    else:
        interval = reported(_difference(change, earlier, last))
    return Recent(len(last), len(earlier), math.expm1(change), interval)


def _difference(change: float, earlier: Sequence[float], last: Sequence[float]) -> Estimate:
    """Estimate a change of levels from the variance around both means."""
    free = len(earlier) + len(last) - 2
    variance = (squares(earlier) + squares(last)) / free
    return Estimate(change, math.sqrt(variance * (1 / len(earlier) + 1 / len(last))), free)


def _link_weights(number: int) -> list[float]:
    """Weight each link in the difference: a level is the sum of the links up to it."""
    early = number - LAST
    return [
        min(LAST, number - link) / LAST - max(0, early - link) / early for link in range(number)
    ]


# -- flaky tests: their verdicts rest on wide intervals -----------------------------------------

RUNS = 20
"""Older ones say little of how a test is now."""
WIDE = 0.5
"""Of the allowed change, half of the interval: with more, a verdict takes many blocks."""
STOLEN = "steal: other machines took the core away"
SLOWING = "drift: slices get slower as a block goes on"
OWN = "its own spread, on a machine that was left alone"


def flakiest(tests: Iterable[PastTest], most: int) -> tuple[Flaky, ...]:
    """List the worst first: those left undecided most often, then the widest intervals."""
    by_test: dict[str, list[Entry]] = {}
    for test in sorted(tests, key=lambda test: test.created):
        for metric in test.metrics:
            if metric.name == TIME and None not in (metric.low, metric.high):
                by_test.setdefault(test.nodeid, []).append(Entry(test, metric))
    judged = [_flaky(entries[-RUNS:]) for entries in by_test.values()]
    shaky = [f for f in judged if f.undecided or f.width > WIDE * f.allowed]
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
