"""The trend of every test in a history: what changed, between which commits, and what creeps."""

import math
from collections.abc import Iterable, Sequence

from pytest_rlperf.judge.creep import Rise, creep_of_levels, creep_of_links
from pytest_rlperf.judge.recent import recent_of
from pytest_rlperf.judge.series import Point, Series, all_series
from pytest_rlperf.judge.steps import find_steps
from pytest_rlperf.judge.taming import tamed
from pytest_rlperf.model.history import PastTest
from pytest_rlperf.model.trend import ChangePoint, Creep, Signal, Trend, TrendPoint
from pytest_rlperf.model.verdict import Interval, Outcome

CALLED = frozenset({Outcome.REGRESSED, Outcome.ACCEPTED, Outcome.IMPROVED})
"""Outcomes of a duet that say that something changed there."""


def trends(tests: Iterable[PastTest]) -> tuple[Trend, ...]:
    """By test and metric."""
    found = sorted(all_series(tests), key=lambda s: (s.newest.test.nodeid, s.newest.metric.name))
    return tuple(_trend(series, len(found)) for series in found)


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
    """In a chain each change has a duet of its own, and that has given its verdict."""
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
        return _told(rise, since, quiet, series)
    start = changes[-1].index if changes else 0
    level = series.points[start:]
    rise = creep_of_levels(tamed(series.levels)[start:], series.allowed, together)
    return _told(rise, level[rise.start].commit if rise else None, level, series)


def _told(
    rise: Rise | None, since: str | None, points: Sequence[Point], series: Series
) -> Creep | None:
    if rise is None or since is None:
        return None
    return Creep(
        since=since,
        until=points[-1].commit,
        commits=len(points) - rise.start,
        change=rise.change,
        allowed=series.allowed,
    )
