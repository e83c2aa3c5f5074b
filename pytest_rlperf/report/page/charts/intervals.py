"""Changes with their intervals, against what is allowed."""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_rlperf.model.verdict import Interval
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
from pytest_rlperf.report.page.charts.quantities import PERCENT
from pytest_rlperf.report.page.charts.scale import Scale, spanning
from pytest_rlperf.report.page.markup import Markup, element

ROW = 30
LABELS = 44
"""Wide: the names of rows, where there are several."""
STRIP_WIDTH = 120
STRIP_HEIGHT = 14


@dataclass(frozen=True, slots=True)
class Row:
    interval: Interval
    name: str = ""
    kind: str = "accent"


def interval_chart(
    title: str,
    rows: Sequence[Row],
    *,
    threshold: float | None = None,
    blocks: Sequence[float] = (),
) -> Markup:
    """`blocks` are the single values that the first interval rests on."""
    ends = [end for row in rows for end in (row.interval.low, row.interval.high)]
    marks = [0.0, *([] if threshold is None else [threshold])]
    left = LABELS if any(row.name for row in rows) else EDGE
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


def _whisker(scale: Scale, row: Row, y: float, left: float) -> list[Markup]:
    found = row.interval
    low, high = scale.at(found.low), scale.at(found.high)
    ends = ((low, y - 5, low, y + 5), (high, y - 5, high, y + 5))
    drawn = [
        lines([(low, y, high, y), *ends], f"whisker {row.kind}"),
        dots([(scale.at(found.change), y)], f"estimate {row.kind}"),
    ]
    return [words(row.name, left - 8, y + 4, "end"), *drawn] if row.name else drawn


def strip(interval: Interval, threshold: float | None, reach: float) -> Markup:
    """The same in one line of a list, on a scale that all lines share; what lies beyond its `reach`
    ends at the edge. The numbers stand beside it.
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
