"""A trend as a drawing that stands in a page: inline SVG, in the colours of the text around it."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_rlperf.launch.revision import SHORT
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.trend import ChangePoint, Trend
from pytest_rlperf.report.trend import GROUNDS, render_change_point, render_creep

WIDTH, HEIGHT = 640, 180
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 12, 24
LEAST_RANGE = 0.05
"""As of a sparkline: noise shall not look like a mountain."""
WORSE, BETTER, LINE = "#d1495b", "#2e933c", "#3066be"
"""Seen on white and on black."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """From points and levels to pixels."""

    points: int
    low: float
    high: float

    def x(self, index: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * index / max(1, self.points - 1)

    def y(self, level: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (self.high - level) / (self.high - self.low)


def render_trend_chart(trend: Trend) -> str:
    """Upwards is worse. Every point tells its commit, date and change; it reads without colours."""
    frame = _frame([point.level for point in trend.points])
    parts = [*_axis(frame), *_changes(trend, frame), *_creep(trend, frame), *_points(trend, frame)]
    return (
        f'<svg class="trend" role="img" aria-label="{html.escape(_label(trend))}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-size="11" fill="currentColor">'
        f"{''.join(parts)}</svg>"
    )


def _frame(levels: Sequence[float]) -> _Frame:
    low, high = min(levels), max(levels)
    missing = max(0.0, LEAST_RANGE - (high - low)) / 2
    return _Frame(len(levels), low - missing, high + missing)


def _label(trend: Trend) -> str:
    told = [f"{trend.metric} of {trend.nodeid} over {len(trend.points)} commits"]
    told.append(f"rests on {GROUNDS[trend.signal]}")
    told += [render_change_point(change) for change in trend.changes or ()]
    told += [f"creep {render_creep(trend.creep)}"] if trend.creep else []
    return "; ".join(told)


def _axis(frame: _Frame) -> Iterator[str]:
    for level in (frame.low, (frame.low + frame.high) / 2, frame.high):
        y = frame.y(level)
        yield (
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            'stroke="currentColor" stroke-opacity="0.2"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{format_percent(level)}</text>'
        )


def _changes(trend: Trend, frame: _Frame) -> Iterator[str]:
    """A band over the places where the change may be."""
    positions = {point.commit: index for index, point in enumerate(trend.points)}
    for change in trend.changes or ():
        start, end = _band(change, positions)
        colour = WORSE if change.change.change > 0 else BETTER
        yield (
            f'<rect x="{frame.x(start):.1f}" y="{TOP}" '
            f'width="{frame.x(end) - frame.x(start):.1f}" height="{HEIGHT - TOP - BOTTOM}" '
            f'fill="{colour}" fill-opacity="0.25">'
            f"<title>{html.escape(render_change_point(change))}</title></rect>"
        )


def _band(change: ChangePoint, positions: dict[str, int]) -> tuple[float, float]:
    """The commit before the first link of a chain has no point."""
    end = positions[change.after]
    return positions.get(change.before, max(0, end - 1)), max(end, 0.25)


def _creep(trend: Trend, frame: _Frame) -> Iterator[str]:
    if trend.creep is None:
        return
    first = max(0, len(trend.points) - trend.creep.commits)
    ends = (first, trend.points[first].level), (len(trend.points) - 1, trend.points[-1].level)
    (x1, y1), (x2, y2) = ((frame.x(index), frame.y(level)) for index, level in ends)
    yield (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{WORSE}" '
        f'stroke-width="2" stroke-dasharray="6 4">'
        f"<title>{html.escape(render_creep(trend.creep))}</title></line>"
    )


def _points(trend: Trend, frame: _Frame) -> Iterator[str]:
    places = [(frame.x(i), frame.y(point.level)) for i, point in enumerate(trend.points)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline points="{path}" fill="none" stroke="{LINE}" stroke-width="1.5"/>'
    for (x, y), point in zip(places, trend.points, strict=True):
        told = f"{point.commit[:SHORT]}, {point.date}: {format_percent(point.level)}"
        yield (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{LINE}">'
            f"<title>{html.escape(told)}</title></circle>"
        )
    for index, anchor in ((0, "start"), (len(places) - 1, "end")):
        yield (
            f'<text x="{places[index][0]:.1f}" y="{HEIGHT - 6}" text-anchor="{anchor}">'
            f"{html.escape(trend.points[index].commit[:SHORT])}</text>"
        )
