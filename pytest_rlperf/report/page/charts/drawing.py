"""What the charts have in common: the frame, the axis and its words."""

from collections.abc import Callable, Iterable, Sequence

from pytest_rlperf.report.page.charts.scale import Scale
from pytest_rlperf.report.page.markup import Child, Markup, element, number

WIDTH = 340
"""Of a chart: as wide as a phone, so that its words keep their size there."""
EDGE = 14
AXIS = 22
"""High: the words below a chart."""
LETTER = 6.2
"""Wide, of the words at an axis, on average."""

Segment = tuple[float, float, float, float]
"""From x and y to x and y."""
Words = Callable[[float], str]
"""How a number is written."""


def chart(title: str, height: float, *children: Child) -> Markup:
    """`title` is what a screen reader says of it; it stands above the picture too."""
    box = f"0 0 {WIDTH} {height:g}"
    picture = element("svg", *children, viewBox=box, role="img", aria_label=title)
    return element("figure", element("figcaption", title), picture)


def lines(segments: Iterable[Segment], kind: str) -> Markup:
    """All of them in one element: a page holds thousands."""
    path = "".join(f"M{number(a)} {number(b)}L{number(c)} {number(d)}" for a, b, c, d in segments)
    return element("path", d=path, class_=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return lines([(x1, y1, x2, y2)], kind)


def dots(points: Iterable[tuple[float, float]], kind: str) -> Markup:
    """Also in one: lines of no length with round ends, as thick as their kind is."""
    path = "".join(f"M{number(x)} {number(y)}h.01" for x, y in points)
    return element("path", d=path, class_=f"dots {kind}")


def words(text: str, x: float, y: float, kind: str | None = None) -> Markup:
    """In the middle above x; of the kind "end", before it."""
    return element("text", text, x=x, y=y, class_=kind)


def bottom_axis(
    scale: Scale, height: float, shown: Words, ticks: Sequence[float] = ()
) -> list[Markup]:
    """Thin lines at `ticks` or at round numbers, which stand below them where there is room."""
    marked = [(scale.at(tick), shown(tick)) for tick in ticks or scale.ticks()]
    drawn = [lines([(x, 0, x, height - AXIS) for x, _ in marked], "grid")]
    free = 0.0  # where the last number ended
    for x, text in marked:
        half = LETTER * len(text) / 2
        middle = min(max(x, half), WIDTH - half)
        if middle - half >= free:
            drawn.append(words(text, middle, height - 6))
            free = middle + half + LETTER
    return drawn
