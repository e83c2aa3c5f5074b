"""Trends as text and as data: a table, then what was found, then what to know about it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from pytest_rlperf.history.records import ChangePoint, Creep, Flaky, Signal, Trend
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.report.text import Rows, aligned, code, render_interval
from pytest_rlperf.trees.git import SHORT

Name = Callable[[str], str]
"""Writes the name of a test or a metric: they come from files."""

SCHEMA = 1
"""Of `rlperf trend --json`. 1: first version."""
GROUNDS = {
    Signal.REFERENCE: "reference units",
    Signal.FIXED: "duets with one commit",
    Signal.CHAIN: "duets in a chain",
    Signal.SIZE: "size",
    Signal.RETURNS: "returns",
    Signal.CLOCK: "plain times",
}
TITLES = ["trend", "last 3 against earlier", "points", "rests on", "metric", "test"]
FLAKIEST = "flakiest, over the last runs"
FLAKY_TITLES = ["undecided", "interval", "allowed", "steal", "cause", "test"]
PLAIN_TIMES = (
    "plain times were taken in different hours, in which the same code differs by tens of percent: "
    "they are drawn, and nothing is concluded from them. Append results that were compared with a "
    "stored baseline or with the commit before."
)
NOT_LOOKED_FOR = (
    "change points were not looked for, since ruptures is not installed: pip install "
    "'pytest-rlperf[trends]'."
)
NOTHING_FOUND = "no change point and no creep."
SEVERAL_COMMITS = "`rlperf bisect GOOD BAD -- NODEID` finds the one of several commits."
LEFT_OUT = (
    "left out, since they cannot be compared with the newest (another machine, build of Python or "
    "text of the test, or no duet that leads there)"
)


def render_trends(trends: Sequence[Trend], flaky: Sequence[Flaky]) -> list[str]:
    """Write trends for a terminal."""
    lines = aligned(trend_rows(trends))
    lines += ["", *render_findings(trends)]
    if flaky:
        lines += ["", f"{FLAKIEST}:", *aligned(flaky_rows(flaky))]
    if notes := list(trend_notes(trends)):
        lines += ["", *(f"note: {note}" for note in notes)]
    return lines


def render_trends_markdown(trends: Sequence[Trend], flaky: Sequence[Flaky]) -> list[str]:
    lines = _markdown(TITLES, [_row(trend, code) for trend in trends])
    lines += ["", *(f"- {line}" for line in render_findings(trends, code))]
    if flaky:
        rows = [_flaky_row(test, code) for test in flaky]
        lines += ["", *_markdown(FLAKY_TITLES, rows)]
    return [*lines, "", *trend_notes(trends)]


def trends_as_dict(
    trends: Sequence[Trend], flaky: Sequence[Flaky], troubles: Sequence[str]
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "trends": [asdict(trend) for trend in trends],
        "flaky": [asdict(test) for test in flaky],
        "troubles": list(troubles),
    }


def _markdown(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (titles, ["---"] * len(titles), *rows)]


def trend_rows(trends: Sequence[Trend]) -> Rows:
    return [TITLES, *map(_row, trends)] if trends else []


def flaky_rows(flaky: Sequence[Flaky]) -> Rows:
    return [FLAKY_TITLES, *map(_flaky_row, flaky)] if flaky else []


def _row(trend: Trend, name: Name = str) -> list[str]:
    return [
        sparkline([point.level for point in trend.points]),
        render_recent(trend),
        str(len(trend.points)),
        GROUNDS[trend.signal],
        name(trend.metric),
        name(trend.nodeid),
    ]


BLOCKS = "▁▂▃▄▅▆▇█"
MOST_POINTS = 30
"""What is older is not drawn."""
LEAST_RANGE = 0.05
"""From the lowest block to the highest: noise of a percent shall not look like a mountain."""


def sparkline(values: Sequence[float]) -> str:
    """Draw a series of numbers as a row of blocks."""
    shown = values[-MOST_POINTS:]
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    room = max(high - low, LEAST_RANGE)
    low -= (room - (high - low)) / 2
    steps = len(BLOCKS) - 1
    return "".join(BLOCKS[round((value - low) / room * steps)] for value in shown)


def render_recent(trend: Trend) -> str:
    recent = trend.recent
    if recent is None:
        return f"too few to tell ({len(trend.points)})"
    change = format_percent(recent.change)
    if recent.interval is None:
        return f"{change} (no claim)"
    return f"{change} {render_interval(recent.interval)}"


def _flaky_row(test: Flaky, name: Name = str) -> list[str]:
    return [
        f"{round(test.undecided * test.runs)} of {test.runs}",
        f"±{format_percent(test.width, signed=False)}",
        format_percent(test.allowed),
        format_percent(test.steal, signed=False),
        "; ".join(test.causes),
        name(test.nodeid),
    ]


# -- findings -----------------------------------------------------------------------------------


def render_findings(trends: Sequence[Trend], name: Name = str) -> list[str]:
    """Write creep first, since nothing else tells of it; then changes, the newest first."""
    creeps = [
        f"CREEP: {_subject(trend, name)} {render_creep(trend.creep, name)}"
        for trend in trends
        if trend.creep is not None
    ]
    dated = [
        (trend.points[change.index].date, _change(trend, change, name))
        for trend in trends
        for change in trend.changes or ()
    ]
    changes = [line for _, line in sorted(dated, key=lambda each: each[0], reverse=True)]
    return [*creeps, *changes] or [NOTHING_FOUND]


def _subject(trend: Trend, name: Name) -> str:
    test = name(trend.nodeid)
    return test if trend.metric == "time" else f"{test} ({name(trend.metric)})"


def _change(trend: Trend, change: ChangePoint, name: Name) -> str:
    word = "WORSE" if change.change.change > 0 else "better"
    return f"{word}: {_subject(trend, name)} {render_change_point(change, name)}"


def render_change_point(change: ChangePoint, name: Name) -> str:
    where = f"between {name(change.before[:SHORT])} and {name(change.after[:SHORT])}"
    return f"{format_percent(change.change.change)} {render_interval(change.change)} {where}"


def render_creep(creep: Creep, name: Name) -> str:
    return (
        f"{format_percent(creep.change.change)} {render_interval(creep.change)} over "
        f"{creep.commits} commits since {name(creep.since[:SHORT])}, and "
        f"{format_percent(creep.allowed)} is allowed of one change"
    )


def trend_notes(trends: Sequence[Trend]) -> Iterator[str]:
    """Yield what a reader of these trends has to know."""
    if any(trend.signal is Signal.CLOCK for trend in trends):
        yield PLAIN_TIMES
    if any(trend.changes is None for trend in trends):
        yield NOT_LOOKED_FOR
    if any(trend.creep or trend.changes for trend in trends):
        yield SEVERAL_COMMITS
    if lost := sum(trend.left_out for trend in trends):
        yield f"{lost} points were {LEFT_OUT}."
