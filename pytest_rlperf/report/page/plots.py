"""Figures by matplotlib: every one twice, for light and for dark pages.

Imported only where a page is written and matplotlib is there.
"""

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from pytest_rlperf.model.metric import Interval, Outcome
from pytest_rlperf.model.quantity import format_time
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.report.categories import UNCATEGORISED
from pytest_rlperf.report.page.parts import address_of
from pytest_rlperf.report.text import printable, worst_first

WIDTH = 9.0  # inches, of which there are 72 pixels each
DPI = 144
"""Of pictures that are made of points: sharp on a phone too."""
NAMED = 40
"""Tests beyond these get no name at the axis: it could not be read."""
LONGEST = 46
"""Letters of a name."""
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # words stay words: smaller, and sharp at any size
    "svg.hashsalt": "pytest-rlperf",
    "text.parse_math": False,  # a name may hold dollars
    "font.family": "sans-serif",
    "font.size": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
}


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of style.css, which has them for the rest of the page."""

    text: str
    faint: str
    head: str
    outcomes: dict[Outcome, str]
    other: str

    def of(self, outcome: Outcome) -> str:
        return self.outcomes.get(outcome, self.other)


LIGHT = Theme(
    text="#43484f",
    faint="#d9d7d1",
    head="#2d6cab",
    outcomes={
        Outcome.REGRESSED: "#b3261e",
        Outcome.ACCEPTED: "#95550a",
        Outcome.INCONCLUSIVE: "#7a6200",
        Outcome.SLOWER: "#95550a",
        Outcome.IMPROVED: "#1d7044",
        Outcome.FASTER: "#1d7044",
        Outcome.UNCHANGED: "#2d6cab",
    },
    other="#5c636c",
)
DARK = Theme(
    text="#b9bec6",
    faint="#3a3f47",
    head="#82b4e8",
    outcomes={
        Outcome.REGRESSED: "#ff8a80",
        Outcome.ACCEPTED: "#f0b35e",
        Outcome.INCONCLUSIVE: "#e0c84a",
        Outcome.SLOWER: "#f0b35e",
        Outcome.IMPROVED: "#6fd19c",
        Outcome.FASTER: "#6fd19c",
        Outcome.UNCHANGED: "#82b4e8",
    },
    other="#a0a7b0",
)


@dataclass(frozen=True, slots=True)
class Plot:
    title: str
    light: str  # addresses that hold their own data
    dark: str


Draw = Callable[[Axes, Theme], None]


def forest_plot(run: RunResult) -> Plot | None:
    """Return a plot of all changes with their intervals, worst on top; None: nothing compared."""
    tests = [test for test in sorted(run.tests, key=worst_first) if test.time is not None]
    compared = [
        (test, test.headline.interval) for test in tests if test.headline.interval is not None
    ]
    if not compared:
        return None
    height = 0.7 + 0.24 * min(len(compared), NAMED)
    title = "Change of time of all tests that were compared, with 95 % intervals"
    kind = "svg" if len(compared) <= NAMED else "png"  # which does not grow with every test
    return _both(title, height, lambda axes, theme: _draw_forest(axes, compared, theme), kind)


def _draw_forest(axes: Axes, compared: Sequence[tuple[TestResult, Interval]], theme: Theme) -> None:
    colours = [theme.of(test.headline.outcome) for test, _ in compared]
    lines = [((100 * i.low, y), (100 * i.high, y)) for y, (_, i) in enumerate(compared)]
    axes.axvline(0, color=theme.text, linewidth=0.8)
    allowed = [
        (100 * test.headline.threshold, y)
        for y, (test, _) in enumerate(compared)
        if test.headline.threshold
    ]
    ticks = [((x, y - 0.5), (x, y + 0.5)) for x, y in allowed]
    axes.add_collection(
        LineCollection(ticks, colors=theme.text, linewidths=0.8, linestyles="dotted")
    )
    axes.add_collection(LineCollection(lines, colors=colours, linewidths=1.6))
    changes = [100 * interval.change for _, interval in compared]
    axes.scatter(
        changes, range(len(compared)), c=colours, s=14 if len(compared) <= NAMED else 4, zorder=3
    )
    axes.set_ylim(len(compared) - 0.4, -0.6)
    axes.autoscale(axis="x")
    axes.set_xlabel("change of time, % (right: slower; dotted: allowed)")
    names = [_short(test.nodeid) for test, _ in compared] if len(compared) <= NAMED else []
    axes.set_yticks(range(len(names)), names)


def category_plot(run: RunResult) -> Plot | None:
    """Time a call of every test, by category; None where there is one category only."""
    groups: dict[str, list[float]] = {}
    for test in run.tests:
        if test.time is not None and test.time.value is not None:
            groups.setdefault(test.spec.category or UNCATEGORISED, []).append(test.time.value)
    if len(groups) < 2:
        return None
    title = "Time a call at head, a dot a test, by category"
    height = 0.7 + 0.3 * len(groups)
    return _both(title, height, lambda axes, theme: _draw_categories(axes, groups, theme))


def _draw_categories(axes: Axes, groups: dict[str, list[float]], theme: Theme) -> None:
    for y, times in enumerate(groups.values()):
        axes.scatter(times, [y] * len(times), color=theme.head, s=26, alpha=0.8, linewidths=0)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda ns, _: format_time(ns)))
    axes.xaxis.set_minor_formatter(FuncFormatter(lambda ns, _: ""))
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.set_yticks(range(len(groups)), [_short(name) for name in groups])


def _short(nodeid: str) -> str:
    """Return the end of a name, which tells tests apart, without what an SVG file cannot hold."""
    file, colons, test = nodeid.partition("::")
    name = " ".join(printable(f"{file.rpartition('/')[2]}{colons}{test}").split())
    return name if len(name) <= LONGEST else f"…{name[1 - LONGEST :]}"


def _both(title: str, height: float, draw: Draw, kind: str = "svg") -> Plot:
    light, dark = (_address(height, draw, theme, kind) for theme in (LIGHT, DARK))
    return Plot(title, light, dark)


def _address(height: float, draw: Draw, theme: Theme, kind: str) -> str:
    with matplotlib.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of letters that its font lacks; the browser has others
        figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="none")
        axes = figure.add_subplot()
        draw(axes, theme)
        axes.set_facecolor("none")
        axes.tick_params(which="both", colors=theme.text, length=0)
        axes.xaxis.label.set_color(theme.text)
        axes.spines["bottom"].set_color(theme.faint)
        axes.grid(axis="x", color=theme.faint, linewidth=0.6)
        axes.set_axisbelow(True)
        file = io.BytesIO()
        # Neither when nor by what it was drawn: the same run gives the same file.
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(file, format=kind, metadata=metadata, dpi=DPI)
    return address_of(file.getvalue(), "svg+xml" if kind == "svg" else kind)
