"""The charts of the page: changes, both sides, curves, and the course over the commits."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_rlperf.history.records import Trend, TrendPoint
from pytest_rlperf.model.metric import Interval, Outcome
from pytest_rlperf.report.page.axes import (
    AXIS,
    EDGE,
    LETTER,
    PERCENT,
    WIDTH,
    Quantity,
    Scale,
    Segment,
    bottom_axis,
    chart,
    dots,
    line,
    lines,
    spanning,
    words,
)
from pytest_rlperf.report.page.markup import Markup, element
from pytest_rlperf.trees.git import SHORT

ROW = 30
INTERVAL_LABELS = 44
"""Wide: the names of rows, where there are several."""
STRIP_WIDTH = 120
STRIP_HEIGHT = 14


@dataclass(frozen=True, slots=True)
class IntervalRow:
    interval: Interval
    name: str = ""
    kind: str = "accent"


def interval_chart(
    title: str,
    rows: Sequence[IntervalRow],
    *,
    threshold: float | None = None,
    blocks: Sequence[float] = (),
) -> Markup:
    """`blocks` are the single values that the first interval rests on."""
    ends = [end for row in rows for end in (row.interval.low, row.interval.high)]
    marks = [0.0, *([] if threshold is None else [threshold])]
    left = INTERVAL_LABELS if any(row.name for row in rows) else EDGE
    scale = spanning([*ends, *marks, *blocks], left, WIDTH - EDGE)
    height = ROW * len(rows) + AXIS + (10 if blocks else 0)
    floor = height - AXIS
    return chart(
        title,
        height,
        bottom_axis(scale, height, PERCENT.shown),
        _allowed(scale, threshold, floor),
        line(scale.at(0), 0, scale.at(0), floor, "zero"),
        dots(((scale.at(value), floor - 7) for value in blocks), "block"),
        [_whisker(scale, row, ROW * (i + 0.5), left) for i, row in enumerate(rows)],
    )


def _allowed(scale: Scale, threshold: float | None, floor: float) -> Markup | None:
    if threshold is None:
        return None
    x = scale.at(threshold)
    beyond = element("rect", x=x, y=0, width=scale.end - x, height=floor, class_="beyond")
    return Markup(beyond + line(x, 0, x, floor, "threshold"))


def _whisker(scale: Scale, row: IntervalRow, y: float, left: float) -> list[Markup]:
    interval = row.interval
    low, high = scale.at(interval.low), scale.at(interval.high)
    ends = ((low, y - 5, low, y + 5), (high, y - 5, high, y + 5))
    drawn = [
        lines([(low, y, high, y), *ends], f"whisker {row.kind}"),
        dots([(scale.at(interval.change), y)], f"estimate {row.kind}"),
    ]
    return [words(row.name, left - 8, y + 4, "end"), *drawn] if row.name else drawn


def strip(interval: Interval, threshold: float | None, reach: float) -> Markup:
    """Return an interval in one line of a list, on a scale that all lines share; what lies beyond
    its `reach` ends at the edge. The numbers stand beside it.
    """
    scale = Scale(-reach, reach, 4, STRIP_WIDTH - 4)
    middle = STRIP_HEIGHT / 2
    low, high = scale.at(interval.low), scale.at(interval.high)
    at = scale.at(threshold) if threshold is not None else None
    return element(
        "svg",
        line(scale.at(0), 0, scale.at(0), STRIP_HEIGHT, "zero"),
        None if at is None else line(at, 1, at, STRIP_HEIGHT - 1, "threshold"),
        line(low, middle, max(high, low + 1), middle, "whisker accent"),
        dots([(scale.at(interval.change), middle)], "accent"),
        viewBox=f"0 0 {STRIP_WIDTH} {STRIP_HEIGHT}",
        class_="strip",
        aria_hidden="true",
    )


# -- what was measured on both sides: a dot for each process ------------------------------------

SIDE_LABELS = 44
BASE_Y, HEAD_Y, SIDES_HEIGHT = 16, 50, 66 + AXIS


def sides_chart(
    title: str, head: Sequence[float], base: Sequence[float], quantity: Quantity, met: bool = False
) -> Markup:
    """Both sides one below the other; the bar is the median. `met`: a line joins two that were
    measured at the same moment.
    """
    values = [*head, *base]
    scale = spanning(values, SIDE_LABELS, WIDTH - EDGE, unit=quantity.unit(values))
    pairs = zip(head, base, strict=True) if met and len(head) == len(base) else ()
    return chart(
        title,
        SIDES_HEIGHT,
        bottom_axis(scale, SIDES_HEIGHT, quantity.shown),
        lines(((scale.at(b), BASE_Y, scale.at(h), HEAD_Y) for h, b in pairs), "pair"),
        _side("base", base, scale, BASE_Y),
        _side("head", head, scale, HEAD_Y),
    )


def _side(name: str, values: Sequence[float], scale: Scale, y: float) -> list[Markup]:
    if not values:
        return []
    middle = scale.at(statistics.median(values))
    return [
        words(name, SIDE_LABELS - 8, y + 4, "end"),
        dots(((scale.at(value), y) for value in values), name),
        line(middle, y - 9, middle, y + 9, f"median {name}"),
    ]


# -- lines over a common axis: memory over time, time over size, speed-up over ranks ------------

CURVES_HEIGHT = 150
LEGEND = 20
POINTS = 60
"""Of a line: more are not seen, and would be most of a page of many tests."""
MARKED = 12
"""A line of at most so many points shows each of them."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    name: str
    kind: str  # "head", "base" or "ideal"
    points: Sequence[Point]
    band: Sequence[tuple[float, float, float]] = ()  # x, and from where to where it is shaded


def curves_chart(
    title: str,
    curves: Sequence[Curve],
    x_quantity: Quantity,
    y_quantity: Quantity,
    *,
    log: bool = False,
    measured: bool = False,
) -> Markup:
    """`measured`: the axis below names just the numbers at which there are points."""
    thin = [replace(each, points=thinned(each.points)) for each in curves]
    xs, ys = zip(*(point for each in thin for point in each.points), strict=True)
    edges = [edge for each in thin for _, low, high in each.band for edge in (low, high)]
    shown = ys if log else (0.0, *ys, *edges)
    y = spanning(shown, CURVES_HEIGHT - AXIS, LEGEND, log=log, unit=y_quantity.unit(ys))
    ticks = [(tick, y_quantity.shown(tick)) for tick in y.ticks()]
    left = EDGE + LETTER * max(len(text) for _, text in ticks)
    x = spanning(xs, left, WIDTH - EDGE, log=log)
    return chart(
        title,
        CURVES_HEIGHT,
        bottom_axis(x, CURVES_HEIGHT, x_quantity.shown, sorted(set(xs)) if measured else ()),
        lines([(left, y.at(tick), WIDTH - EDGE, y.at(tick)) for tick, _ in ticks], "grid"),
        [words(text, left - 6, y.at(tick) + 4, "end") for tick, text in ticks],
        [_shaded(each, x, y) for each in thin if each.band],
        [_drawn(each, x, y) for each in thin],
        _legend(thin),
    )


def _shaded(curve: Curve, x: Scale, y: Scale) -> Markup:
    """Return the band as one area: along its upper edge, and back along the lower one."""
    upper = [(at, high) for at, _, high in curve.band]
    lower = [(at, low) for at, low, _ in reversed(curve.band)]
    path = " ".join(f"{x.at(a):.0f},{y.at(b):.0f}" for a, b in (*upper, *lower))
    return element("polygon", points=path, class_=f"band {curve.kind}")


def _drawn(curve: Curve, x: Scale, y: Scale) -> list[Markup]:
    path = " ".join(f"{x.at(a):.0f},{y.at(b):.0f}" for a, b in curve.points)
    drawn = [element("polyline", points=path, class_=f"curve {curve.kind}")]
    if curve.kind != "ideal" and len(curve.points) <= MARKED:
        drawn.append(dots(((x.at(a), y.at(b)) for a, b in curve.points), curve.kind))
    return drawn


def _legend(curves: Sequence[Curve]) -> list[Markup]:
    drawn: list[Markup] = []
    right = float(WIDTH - EDGE)
    for curve in reversed(curves):
        drawn.append(words(curve.name, right, 12, "end"))
        right -= LETTER * len(curve.name) + 6
        drawn.append(line(right - 16, 8, right, 8, f"curve {curve.kind}"))
        right -= 30
    return drawn


def thinned(points: Sequence[Point], most: int = POINTS) -> list[Point]:
    """Return fewer points, of neighbours the highest: no peak is lost. First and last stay."""
    if len(points) <= most:
        return list(points)
    size = -(-(len(points) - 2) // (most - 2))
    inner = points[1:-1]
    groups = (inner[i : i + size] for i in range(0, len(inner), size))
    return [points[0], *(max(group, key=lambda point: point[1]) for group in groups), points[-1]]


# -- the course of a test over the commits: levels, changes between them, and creep -------------

COMMITS_HEIGHT = 130
TOP = 6
NEWEST = 100
"""Points: what is older is not drawn."""
CALM = 0.025
"""Either side of the first level is always in the picture: noise shall not look like a mountain."""


def commits_chart(title: str, trend: Trend) -> Markup:
    points = trend.points[-NEWEST:]
    levels = [point.level for point in points]
    y = spanning((-CALM, CALM, *levels), COMMITS_HEIGHT - AXIS, TOP)
    ticks = [(tick, PERCENT.shown(tick)) for tick in y.ticks()]
    left = EDGE + LETTER * max(len(text) for _, text in ticks)
    x = Scale(0, len(points) - 1, left + TOP, WIDTH - EDGE)
    path = " ".join(f"{x.at(i):.0f},{y.at(level):.0f}" for i, level in enumerate(levels))
    return chart(
        title,
        COMMITS_HEIGHT,
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
            yield x.at(middle), TOP, x.at(middle), COMMITS_HEIGHT - AXIS


def _runs(points: Sequence[TrendPoint], x: Scale, y: Scale) -> Iterator[Markup]:
    """Yield a dot for each run; those that failed stand out."""
    places = [(x.at(i), y.at(point.level)) for i, point in enumerate(points)]
    failed = [point.outcome == Outcome.REGRESSED for point in points]
    for wanted, kind in ((False, "head"), (True, "accent regressed")):
        alike = [place for place, fails in zip(places, failed, strict=True) if fails is wanted]
        if alike:
            yield dots(alike, f"run {kind}")


def _creep(trend: Trend, points: Sequence[TrendPoint], x: Scale, y: Scale) -> Markup | None:
    """Return the line from where creep began, as far as that is drawn."""
    if trend.creep is None:
        return None
    start = max(0, len(points) - trend.creep.commits)
    last = len(points) - 1
    ends = ((x.at(i), y.at(points[i].level)) for i in (start, last))
    (a, b), (c, d) = ends
    return line(a, b, c, d, "whisker accent regressed")


def _commits(points: Sequence[TrendPoint], left: float) -> list[Markup]:
    """Return the names of the first and the last commit, which stand below the chart."""
    first, last = points[0].commit[:SHORT], points[-1].commit[:SHORT]
    half = LETTER * SHORT / 2
    return [
        words(first, left + half, COMMITS_HEIGHT - 6),
        words(last, WIDTH - EDGE, COMMITS_HEIGHT - 6, "end"),
    ]
