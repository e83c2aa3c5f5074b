"""Lines over a common axis: memory over time, time over size, speed-up over ranks."""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_rlperf.report.page.charts.drawing import (
    AXIS,
    EDGE,
    LETTER,
    WIDTH,
    bottom_axis,
    chart,
    dots,
    line,
    lines,
    words,
)
from pytest_rlperf.report.page.charts.quantities import Quantity
from pytest_rlperf.report.page.charts.scale import Scale, spanning
from pytest_rlperf.report.page.markup import Markup, element

HEIGHT = 150
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
    thin = [Curve(each.name, each.kind, thinned(each.points)) for each in curves]
    xs, ys = zip(*(point for each in thin for point in each.points), strict=True)
    shown = ys if log else (0.0, *ys)
    y = spanning(shown, HEIGHT - AXIS, LEGEND, log=log, unit=y_quantity.unit(ys))
    ticks = [(tick, y_quantity.shown(tick)) for tick in y.ticks()]
    left = EDGE + LETTER * max(len(text) for _, text in ticks)
    x = spanning(xs, left, WIDTH - EDGE, log=log)
    return chart(
        title,
        HEIGHT,
        bottom_axis(x, HEIGHT, x_quantity.shown, sorted(set(xs)) if measured else ()),
        lines([(left, y.at(tick), WIDTH - EDGE, y.at(tick)) for tick, _ in ticks], "grid"),
        [words(text, left - 6, y.at(tick) + 4, "end") for tick, text in ticks],
        [_drawn(each, x, y) for each in thin],
        _legend(thin),
    )


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
    """The highest of neighbours: a peak must not be lost. The first and the last stay."""
    if len(points) <= most:
        return list(points)
    size = -(-(len(points) - 2) // (most - 2))
    inner = points[1:-1]
    groups = (inner[i : i + size] for i in range(0, len(inner), size))
    return [points[0], *(max(group, key=lambda point: point[1]) for group in groups), points[-1]]
