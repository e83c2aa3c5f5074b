"""What the history says of the tests of this run: findings, charts, and a table of all."""

from collections.abc import Iterator, Sequence

from pytest_rlperf.model.result import RunResult
from pytest_rlperf.model.trend import History, Trend
from pytest_rlperf.report.page.charts.commits import commits_chart
from pytest_rlperf.report.page.markup import Child, Markup, element
from pytest_rlperf.report.page.tables import bullets, table, titled
from pytest_rlperf.report.trend import (
    FLAKIEST,
    flaky_rows,
    render_findings,
    render_recent,
    trend_notes,
    trend_rows,
)

DRAWN = 24
"""Charts: those with a finding first. The table has a line for every test."""
ABOUT = "By commit, oldest first; up is worse. Dashed: a change. Red: creep, and runs that failed."


def trend_part(run: RunResult, history: History) -> Iterator[Child]:
    """Of tests that are no part of this run nothing is told: the page has no place for them."""
    known = {test.nodeid for test in run.tests}
    trends = [trend for trend in history.trends if trend.nodeid in known]
    flaky = [test for test in history.flaky if test.nodeid in known]
    if not trends:
        return
    yield bullets(render_findings(trends))
    yield _charts(trends)
    # The first column is drawn with letters: charts show it, and a screen reader would spell it.
    rows = [row[1:] for row in trend_rows(trends)]
    yield table(rows, "All tests of this run in the history")
    yield table(flaky_rows(flaky), FLAKIEST.capitalize())
    yield bullets([*trend_notes(trends), *history.troubles])


def _charts(trends: Sequence[Trend]) -> Markup | None:
    """One point is no course."""
    found = sorted((trend for trend in trends if len(trend.points) > 1), key=_interest)
    charts = [commits_chart(_title(trend), trend) for trend in found[:DRAWN]]
    if not charts:
        return None
    left = len(found) - len(charts)
    more = f" {left} more are in the table only." if left else ""
    about = element("p", ABOUT + more, class_="aside")
    return titled(3, "Charts", about, element("div", charts, class_="charts"))


def _interest(trend: Trend) -> tuple[bool, bool, float]:
    """Those with creep first, then with changes, then by how much the last points differ."""
    recent = 0.0 if trend.recent is None else abs(trend.recent.change)
    return trend.creep is None, not trend.changes, -recent


def _title(trend: Trend) -> str:
    return f"{trend.nodeid}, {trend.metric}: last 3 against earlier {render_recent(trend)}"
