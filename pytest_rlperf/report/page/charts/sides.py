"""What was measured on both sides: a dot for each process."""

import statistics
from collections.abc import Sequence

from pytest_rlperf.report.page.charts.drawing import (
    AXIS,
    EDGE,
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
from pytest_rlperf.report.page.markup import Markup

LABELS = 44
BASE_Y, HEAD_Y, HEIGHT = 16, 50, 66 + AXIS


def sides_chart(
    title: str, head: Sequence[float], base: Sequence[float], quantity: Quantity, met: bool = False
) -> Markup:
    """Both sides one below the other; the bar is the median. `met`: a line joins two that were
    measured at the same moment.
    """
    values = [*head, *base]
    scale = spanning(values, LABELS, WIDTH - EDGE, unit=quantity.unit(values))
    pairs = zip(head, base, strict=True) if met and len(head) == len(base) else ()
    return chart(
        title,
        HEIGHT,
        bottom_axis(scale, HEIGHT, quantity.shown),
        lines(((scale.at(b), BASE_Y, scale.at(h), HEAD_Y) for h, b in pairs), "pair"),
        _side("base", base, scale, BASE_Y),
        _side("head", head, scale, HEAD_Y),
    )


def _side(name: str, values: Sequence[float], scale: Scale, y: float) -> list[Markup]:
    if not values:
        return []
    middle = scale.at(statistics.median(values))
    return [
        words(name, LABELS - 8, y + 4, "end"),
        dots(((scale.at(value), y) for value in values), name),
        line(middle, y - 9, middle, y + 9, f"median {name}"),
    ]
