"""The course of a test over the commits: levels, changes between them, and creep."""

from collections.abc import Iterator, Sequence

from pytest_rlperf.launch.revision import SHORT
from pytest_rlperf.model.trend import Trend, TrendPoint
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.report.page.charts.drawing import (
    AXIS,
    EDGE,
    LETTER,
    WIDTH,
    Segment,
    chart,
    dots,
    line,
    lines,
    words,
)
from pytest_rlperf.report.page.charts.quantities import PERCENT
from pytest_rlperf.report.page.charts.scale import Scale, spanning
from pytest_rlperf.report.page.markup import Markup, element

HEIGHT = 130
TOP = 6
NEWEST = 100
"""Points: what is older is not drawn."""
CALM = 0.025
"""Either side of the first level is always in the picture: noise shall not look like a mountain."""


def commits_chart(title: str, trend: Trend) -> Markup:
    points = trend.points[-NEWEST:]
    levels = [point.level for point in points]
    y = spanning((-CALM, CALM, *levels), HEIGHT - AXIS, TOP)
    ticks = [(tick, PERCENT.shown(tick)) for tick in y.ticks()]
    left = EDGE + LETTER * max(len(text) for _, text in ticks)
    x = Scale(0, len(points) - 1, left + TOP, WIDTH - EDGE)
    path = " ".join(f"{x.at(i):.0f},{y.at(level):.0f}" for i, level in enumerate(levels))
    return chart(
        title,
        HEIGHT,
        lines([(left, y.at(tick), WIDTH - EDGE, y.at(tick)) for tick, _ in ticks], "grid"),
        [words(text, left - 6, y.at(tick) + 4, "end") for tick, text in ticks],
        lines(_changes(trend, x), "threshold"),
        element("polyline", points=path, class_="curve head"),
        _runs(points, x, y),
        _creep(trend, points, x, y),
        _commits(points, left),
    )


def _changes(trend: Trend, x: Scale) -> Iterator[Segment]:
    """Between the last point of the old level and the first of the new one."""
    older = len(trend.points) - (x.high + 1)
    for change in trend.changes or ():
        middle = change.index - older - 0.5
        if middle > 0:
            yield x.at(middle), TOP, x.at(middle), HEIGHT - AXIS


def _runs(points: Sequence[TrendPoint], x: Scale, y: Scale) -> Iterator[Markup]:
    """A dot each; those whose own run failed stand out."""
    places = [(x.at(i), y.at(point.level)) for i, point in enumerate(points)]
    failed = [point.outcome == Outcome.REGRESSED for point in points]
    for wanted, kind in ((False, "head"), (True, "accent regressed")):
        found = [place for place, each in zip(places, failed, strict=True) if each is wanted]
        if found:
            yield dots(found, f"run {kind}")


def _creep(trend: Trend, points: Sequence[TrendPoint], x: Scale, y: Scale) -> Markup | None:
    """From where it began, as far as that is drawn."""
    if trend.creep is None:
        return None
    start = max(0, len(points) - trend.creep.commits)
    last = len(points) - 1
    ends = ((x.at(i), y.at(points[i].level)) for i in (start, last))
    (a, b), (c, d) = ends
    return line(a, b, c, d, "whisker accent regressed")


def _commits(points: Sequence[TrendPoint], left: float) -> list[Markup]:
    """The first and the last, below."""
    first, last = points[0].commit[:SHORT], points[-1].commit[:SHORT]
    half = LETTER * SHORT / 2
    return [
        words(first, left + half, HEIGHT - 6),
        words(last, WIDTH - EDGE, HEIGHT - 6, "end"),
    ]
