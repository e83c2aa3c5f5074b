"""Numbers to pixels, the numbers at an axis, and what all charts are drawn with."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pytest_rlperf.model.quantity import BYTE_SIZES, format_bytes, format_time
from pytest_rlperf.report.page.markup import Child, Markup, element, number

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
MARGIN = 0.06
"""Of the range, on either side: nothing is drawn on the edge."""

Words = Callable[[float], str]
"""How a number is written."""


@dataclass(frozen=True, slots=True)
class Scale:
    """From `low` to `high` in numbers, from `start` to `end` in pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    unit: float = 1.0  # in which round numbers are round

    def at(self, value: float) -> float:
        low, high, shown = (self._shown(number) for number in (self.low, self.high, value))
        share = (shown - low) / (high - low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def _shown(self, value: float) -> float:
        return math.log(value) if self.log else value

    def ticks(self, most: int = 4) -> list[float]:
        """At most so many round numbers within the range."""
        if self.log:
            powers = _powers(self.low, self.high)
            return powers[:: math.ceil(len(powers) / most)]
        wide = (self.high - self.low) / most / self.unit
        step = 10.0 ** math.floor(math.log10(wide))
        step *= self.unit * next(factor for factor in STEPS if factor * step >= wide)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def spanning(
    values: Iterable[float], start: float, end: float, *, log: bool = False, unit: float = 1.0
) -> Scale:
    """Return a scale that holds all values, with room at both ends."""
    held = list(values)
    low, high = min(held), max(held)
    if log:
        room = max((high / low) ** MARGIN, 1.05)
        return Scale(low / room, high * room, start, end, log=True)
    room = MARGIN * (high - low) or 0.05 * abs(high) or 1.0
    return Scale(low - room, high + room, start, end, unit=unit)


def _powers(low: float, high: float) -> list[float]:
    exponents = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    return [10.0**k for k in exponents] or [low, high]


# -- how the numbers at an axis are written, and in which unit they are round -------------------

BINARY = tuple(BYTE_SIZES[unit] for unit in ("GIB", "MIB", "KIB"))


@dataclass(frozen=True, slots=True)
class Quantity:
    shown: Words
    binary: bool = False

    def unit(self, values: Iterable[float]) -> float:
        """Bytes are written in KiB, MiB and GiB, so that is where they are round."""
        most = max(map(abs, values))
        fitting = (size for size in BINARY if self.binary and size <= most)
        return float(next(fitting, 1))


def _percent(fraction: float) -> str:
    return f"{100 * fraction:+.3g} %" if fraction else "0"


def _seconds(seconds: float) -> str:
    return format_time(seconds * 1e9) if seconds else "0"


def _bytes(size: float) -> str:
    return format_bytes(size) if size else "0"


PERCENT = Quantity(_percent)
SECONDS = Quantity(_seconds)
TIME = Quantity(format_time)
BYTES = Quantity(_bytes, binary=True)
PLAIN = Quantity(lambda value: f"{value:g}")

# -- what the charts have in common: the frame, the axis and its words --------------------------

WIDTH = 340
"""Of a chart: as wide as a phone, so that its words keep their size there."""
EDGE = 14
AXIS = 22
"""High: the words below a chart."""
LETTER = 6.2
"""Wide, of the words at an axis, on average."""

Segment = tuple[float, float, float, float]
"""From x and y to x and y."""


def chart(title: str, height: float, *children: Child) -> Markup:
    """`title` is what a screen reader says of it; it stands above the picture too."""
    box = f"0 0 {WIDTH} {height:g}"
    picture = element("svg", *children, viewBox=box, role="img", aria_label=title)
    return element("figure", element("figcaption", title), picture)


def lines(segments: Iterable[Segment], kind: str) -> Markup:
    """Return the lines in one element: a page holds thousands."""
    path = "".join(f"M{number(a)} {number(b)}L{number(c)} {number(d)}" for a, b, c, d in segments)
    return element("path", d=path, class_=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return lines([(x1, y1, x2, y2)], kind)


def dots(points: Iterable[tuple[float, float]], kind: str) -> Markup:
    """Return the dots in one element: lines of no length with round ends, thick as their kind."""
    path = "".join(f"M{number(x)} {number(y)}h.01" for x, y in points)
    return element("path", d=path, class_=f"dots {kind}")


def words(text: str, x: float, y: float, kind: str | None = None) -> Markup:
    """Return a text in the middle above x; of the kind "end", before it."""
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
