"""What the charts have in common: the frame, the axis and its words."""

from collections.abc import Callable, Sequence

from pytest_rlperf.report.page.charts.scale import Scale
from pytest_rlperf.report.page.markup import Child, Markup, element

WIDTH = 340
"""Of a chart: as wide as a phone, so that its words keep their size there."""
EDGE = 14
AXIS = 22
"""High: the words below a chart."""
LETTER = 6.2
"""Wide, of the words at an axis, on average."""

Words = Callable[[float], str]
"""How a number is written."""


def chart(title: str, height: float, *children: Child) -> Markup:
    """`title` is what a screen reader says of it; it stands above the picture too."""
    box = f"0 0 {WIDTH} {height:g}"
    picture = element("svg", *children, viewBox=box, role="img", aria_label=title)
    return element("figure", element("figcaption", title), picture)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def dot(x: float, y: float, radius: float, kind: str) -> Markup:
    return element("circle", cx=x, cy=y, r=radius, class_=kind)


def words(text: str, x: float, y: float, anchor: str = "middle", kind: str | None = None) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor, class_=kind)


def bottom_axis(
    scale: Scale, height: float, shown: Words, ticks: Sequence[float] | None = None
) -> list[Markup]:
    """Thin lines at `ticks` or at round numbers, which stand below them where there is room."""
    drawn: list[Markup] = []
    free = 0.0  # where the last number ended
    for tick in scale.ticks() if ticks is None else ticks:
        x, text = scale.at(tick), shown(tick)
        drawn.append(line(x, 0, x, height - AXIS, "grid"))
        half = LETTER * len(text) / 2
        middle = min(max(x, half), WIDTH - half)
        if middle - half >= free:
            drawn.append(words(text, middle, height - 6))
            free = middle + half + LETTER
    return drawn
