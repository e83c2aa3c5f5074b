"""The parts of the page: what a card says of its test, flame graphs, and the history."""

import base64
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.files import read_figure
from pytest_rlperf.history.records import History, Trend
from pytest_rlperf.history.report import (
    FLAKIEST,
    flaky_rows,
    render_findings,
    render_recent,
    trend_notes,
    trend_rows,
)
from pytest_rlperf.learning.scores import bands_of, tasks_of
from pytest_rlperf.metrics.within_run import phase_rows, render_moved
from pytest_rlperf.model.block import Drift
from pytest_rlperf.model.learning import LearningResult
from pytest_rlperf.model.memory import MemoryResult
from pytest_rlperf.model.metric import (
    COMPARED,
    PEAK,
    TIME,
    GrowthCurve,
    Metric,
    MetricFamily,
    Outcome,
    badness,
)
from pytest_rlperf.model.profile import Edit, Explanation
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.mpi.report import render_ranks
from pytest_rlperf.mpi.scaling import render_efficiency_lost
from pytest_rlperf.profile.report import (
    cause_rows,
    line_rows,
    render_edits,
    render_lines_title,
    render_operator,
    render_profile,
)
from pytest_rlperf.report.kpis import kpi_remarks, kpi_rows, render_kpi_alerts
from pytest_rlperf.report.metrics import (
    LEARNING,
    MEMORY,
    SIZES_AND_STARTS,
    metric_remarks,
    metric_rows,
    render_learning,
    render_memory_evidence,
)
from pytest_rlperf.report.page.axes import BYTES, PLAIN, SECONDS
from pytest_rlperf.report.page.axes import TIME as TIMES
from pytest_rlperf.report.page.charts import (
    Curve,
    IntervalRow,
    commits_chart,
    curves_chart,
    interval_chart,
    sides_chart,
)
from pytest_rlperf.report.page.markup import (
    Child,
    Markup,
    anchor,
    bullets,
    element,
    facts,
    table,
    titled,
    together,
)
from pytest_rlperf.report.terminal import remarks, render_how, render_witnesses, time_rows
from pytest_rlperf.report.text import WORDS, worst_first

FAILING = (Outcome.REGRESSED, Outcome.FAILED)


@dataclass(frozen=True, slots=True)
class Alarm:
    """Why a test fails whose own verdicts are all right: a KPI alert, or lost efficiency."""

    name: str  # for the line of the test
    text: str


def alarms(test: TestResult, run: RunResult) -> Iterator[Alarm]:
    for text in render_kpi_alerts(run, test.nodeid):
        yield Alarm("KPI alert", text)
    for text in render_efficiency_lost(run, test.nodeid):
        yield Alarm("efficiency lost", text)


def fails(test: TestResult, run: RunResult) -> bool:
    return test.outcome in FAILING or any(alarms(test, run))


def decisive(test: TestResult) -> Metric | None:
    """Return what decided how the test ended, and how bad it is; None: nothing was judged."""
    fitting = [metric for metric in test.judged if metric.outcome is test.outcome]
    return min(fitting, key=lambda metric: badness(metric.verdict), default=None)


# -- flame graphs, as pictures while there is room, and as links --------------------------------

ROOM_BYTES = 1_000_000
"""The room for all graphs of a page together; of the rest there are links."""
MOST_BYTES = 16 * ROOM_BYTES
"""What is larger is none of our graphs."""


@dataclass(frozen=True, slots=True)
class Flame:
    link: str
    picture: str | None  # as an address that holds its own data; None: there was no room


def load_flames(run: RunResult, folder: Path) -> Mapping[str, Flame]:
    """Return the graphs by node id, the worst test first; those that are gone are left out."""
    flames: dict[str, Flame] = {}
    room = ROOM_BYTES
    for test in sorted(run.tests, key=worst_first):
        graph = test.explanation.graph if test.explanation else None
        content = None if graph is None else read_figure(graph, MOST_BYTES)
        if graph is None or content is None:
            continue
        fits = len(content) <= room
        room -= len(content) if fits else 0
        # Slashes on Windows too: this is an address.
        link = Path(os.path.relpath(graph, folder)).as_posix()
        flames[test.nodeid] = Flame(link, address_of(content, "svg+xml") if fits else None)
    return flames


def address_of(content: bytes, kind: str) -> str:
    """Return the address of a picture, which holds its own data."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


# -- the cause: functions, lines and sources that a change is put down to -----------------------


DIFF = {"-": "gone", "+": "new"}
"""Lines of a diff by their first character."""


def why_part(test: TestResult, flame: Flame | None) -> Markup | None:
    explanation = test.explanation
    if explanation is None:
        return None
    lines = explanation.lines
    return titled(
        4,
        "Why",
        _edits(explanation),
        table(cause_rows(explanation.causes), "Functions that take the time"),
        bullets(
            [
                *map(render_operator, explanation.operators),
                *(line.strip() for line in render_moved(test)),
            ]
        ),
        element("p", render_profile(explanation), class_="aside"),
        None if lines is None else table(line_rows(lines), render_lines_title(lines)),
        _flame(flame),
    )


def _edits(explanation: Explanation) -> list[Markup]:
    """Return what changed in the source of functions that ran, with their diffs."""
    if not explanation.edits:
        return []
    shown = [edit for edit in explanation.edits if edit.diff]
    return [
        element("p", "Changed: ", element("strong", render_edits(explanation)), "."),
        *(
            element("figure", element("figcaption", element("code", str(e.function))), _diff(e))
            for e in shown
        ),
    ]


def _diff(edit: Edit) -> Markup:
    lines = (element("span", f"{line}\n", class_=DIFF.get(line[:1])) for line in edit.diff)
    return element("pre", lines, class_="diff", tabindex="0")


def _flame(flame: Flame | None) -> Markup | None:
    if flame is None:
        return None
    link = element("p", element("a", "Flame graph as a file of its own", href=flame.link))
    if flame.picture is None:
        return link
    picture = element(
        "img", src=flame.picture, alt="Flame graph: width is head's time", loading="lazy"
    )
    wide = element(
        "div", picture, class_="wide flame", tabindex="0", role="group", aria_label="Flame graph"
    )
    return element("details", element("summary", "Flame graph"), wide, link)


# -- memory -------------------------------------------------------------------------------------

LEAST_POINTS = 2


def memory_part(test: TestResult) -> Markup | None:
    memory = test.memory
    if memory is None:
        return None
    return titled(
        4,
        "Memory",
        table(metric_rows([test], MEMORY), "Memory of the processes", last=False),
        bullets([*metric_remarks(test, MEMORY), *_labels(test)]),
        element("div", list(_memory_charts(test, memory)), class_="charts"),
        bullets(render_memory_evidence(memory)),
    )


def _labels(test: TestResult) -> Iterator[str]:
    for metric in test.metrics:
        if metric.family is MetricFamily.MEMORY and metric.verdict.label:
            yield f"{metric.name}: {metric.verdict.label}"


def _memory_charts(test: TestResult, memory: MemoryResult) -> Iterator[Markup]:
    peak = test.metric(PEAK)
    if peak is not None:
        yield sides_chart("Peak, process by process", peak.head, peak.base, BYTES)
    sides = {"base": memory.base, "head": memory.head}
    curves = [
        Curve(name, name, side.curve)
        for name, side in sides.items()
        if side is not None and len(side.curve) >= LEAST_POINTS
    ]
    if curves:
        yield curves_chart("Memory over time", curves, SECONDS, BYTES)


# -- learning -----------------------------------------------------------------------------------


def learning_part(test: TestResult) -> Markup | None:
    learning = test.learning
    if learning is None:
        return None
    return titled(
        4,
        "Learning",
        table(metric_rows([test], LEARNING), "What was learned", last=False),
        element("div", list(_learning_charts(test, learning)), class_="charts"),
        bullets(render_learning(learning)),
    )


def _learning_charts(test: TestResult, learning: LearningResult) -> Iterator[Markup]:
    for metric in LEARNING.metrics(test):
        v = metric.verdict
        if v.interval is not None:
            title = "Loss: 95 % interval; shaded: more than allowed"
            yield interval_chart(title, [IntervalRow(v.interval)], threshold=v.threshold)
        if metric.head:
            yield sides_chart(f"{metric.name}, seed by seed", metric.head, metric.base, PLAIN)
    sides = {"base": learning.base, "head": learning.head}
    for task in tasks_of((*learning.base, *learning.head)):
        courses = {name: bands_of(side, task) for name, side in sides.items()}
        curves = [
            Curve(
                name,
                name,
                [(band.steps, band.middle) for band in course],
                [(band.steps, band.low, band.high) for band in course],
            )
            for name, course in courses.items()
            if len(course) >= LEAST_POINTS
        ]
        if curves:
            named = f" of {task}" if task else ""
            title = f"Return{named} over the steps: interquartile mean and quartiles of the seeds"
            yield curves_chart(title, curves, PLAIN, PLAIN)


# -- time, and how to see it again --------------------------------------------------------------


def failure_part(test: TestResult) -> Markup | None:
    """Return why a test failed or was skipped; None: it did not."""
    if test.failure is None:
        return None if test.skipped is None else element("p", f"skipped: {test.skipped}")
    printed = [
        element("details", element("summary", title), element("pre", text))
        for title, text in test.failure.sections
    ]
    return together(element("pre", test.failure.text), printed)


def time_part(test: TestResult, run: RunResult) -> Markup:
    return together(
        [element("p", reason, class_="reason") for reason in _reasons(test)],
        [element("p", alarm.text, class_="reason alarm") for alarm in alarms(test, run)],
        None if test.time is None else _numbers(test, run),
        element("div", list(_time_charts(test)), class_=f"charts {test.headline.outcome.value}"),
        bullets(_said(test)),
    )


def tables_part(test: TestResult, run: RunResult) -> Markup:
    own = [kpi for kpi in run.kpis if kpi.nodeid == test.nodeid]
    return together(
        table(metric_rows([test], SIZES_AND_STARTS), SIZES_AND_STARTS.title, last=False),
        table(phase_rows([test], run.against), "Phases", last=False),
        table(kpi_rows(own), "KPIs", last=False),
        bullets(kpi_remarks(own)),
    )


def _reasons(test: TestResult) -> Iterator[str]:
    """Yield the reasons of what decided how the test ended."""
    if test.failure is not None or test.skipped is not None:
        return
    for metric in test.judged:
        v = metric.verdict
        if v.outcome is test.outcome:
            label = f" ({v.label})" if v.label else ""
            yield f"{v.reason}{label}" if metric.name == TIME else f"{metric.name}: {v.reason}"


def _numbers(test: TestResult, run: RunResult) -> Markup | None:
    title, row = time_rows([test], run.against)
    # The outcome and the name stand in the line above.
    return facts(list(zip(title, row, strict=True))[1:-1])


def _said(test: TestResult) -> Iterator[str]:
    """Yield what numbers and reason do not show."""
    shown = f"{WORDS[test.headline.outcome]}: {test.headline.reason}"
    yield from (remark for remark in remarks(test) if not remark.startswith(shown))
    yield from metric_remarks(test, SIZES_AND_STARTS)


def _time_charts(test: TestResult) -> Iterator[Markup]:
    time, v = test.time, test.headline
    if time is not None and v.interval is not None:
        allowed = v.threshold if v.outcome in COMPARED else None
        title = "Change of time: 95 % interval, and the blocks below it"
        if allowed is not None:
            title += "; shaded: more than allowed"
        yield interval_chart(
            title, [IntervalRow(v.interval)], threshold=allowed, blocks=time.block_changes
        )
    if time is not None and time.head:
        yield sides_chart("Time a call, block by block", time.head, time.base, TIMES, met=True)
    if test.drift is not None and any(side.matters for side in test.drift.sides.values()):
        yield _drift_chart(test.drift)
    curves = (metric.curve for metric in test.metrics)
    yield from (_sizes_chart(curve) for curve in curves if curve and curve.head_ns)


def _drift_chart(drift: Drift) -> Markup:
    rows = [IntervalRow(side.change, name, name) for name, side in drift.sides.items()]
    return interval_chart(f"From the first to the last of {drift.slices} slices of a block", rows)


def _sizes_chart(curve: GrowthCurve) -> Markup:
    sides = {"base": curve.base_ns, "head": curve.head_ns}
    curves = [
        Curve(name, name, list(zip(curve.sizes, times, strict=True)))
        for name, times in sides.items()
        if times
    ]
    title = "Time a call over the size, both on logarithmic scales"
    return curves_chart(title, curves, PLAIN, TIMES, log=True, measured=True)


def witness_part(test: TestResult) -> Markup | None:
    if not test.blocks:
        return None
    worked = ", ".join(f"{name} {value:g}" for name, value in test.blocks[-1].head.work.items())
    about = ", ".join(f"{name}: {value}" for name, value in test.spec.metadata.items())
    lines = [
        ("measured", render_how(test) if test.plan else None),
        ("witnesses", render_witnesses(test)),
        ("ranks", render_ranks(test)),
        ("work of a call", worked),
        ("metadata", about),
    ]
    return titled(4, "How it was measured", facts(lines))


def repeat_part(test: TestResult) -> Markup | None:
    if not test.repeat_command:
        return None
    command = element("code", test.repeat_command)
    # Shown by the script, without which it would do nothing.
    button = element("button", "Copy", type="button", class_="copy", hidden=True)
    link = element("a", "Link to this test", href=f"#{anchor(test.nodeid)}")
    return titled(
        4,
        "Repeat",
        element("div", element("pre", command), button, class_="command"),
        element("p", link, class_="aside"),
    )


# -- history: findings, charts, and a table of all ----------------------------------------------

DRAWN = 24
"""The number of charts, those with a finding first. The table has a line for every test."""
ABOUT = "By commit, oldest first; up is worse. Dashed: a change. Red: creep, and runs that failed."


def trend_part(run: RunResult, history: History) -> Iterator[Child]:
    """Yield findings, charts and tables of the history, without tests that are no part of this run:
    the page has no place for them.
    """
    known = {test.nodeid for test in run.tests}
    trends = [trend for trend in history.trends if trend.nodeid in known]
    flaky = [test for test in history.flaky if test.nodeid in known]
    if not trends:
        return
    yield bullets(render_findings(trends))
    yield _trend_charts(trends)
    # The first column is drawn with letters: charts show it, and a screen reader would spell it.
    rows = [row[1:] for row in trend_rows(trends)]
    yield table(rows, "All tests of this run in the history")
    yield table(flaky_rows(flaky), FLAKIEST.capitalize())
    yield bullets([*trend_notes(trends), *history.troubles])


def _trend_charts(trends: Sequence[Trend]) -> Markup | None:
    """Return a chart for each trend of more than one point, those of most interest first."""
    drawable = sorted((trend for trend in trends if len(trend.points) > 1), key=_interest)
    charts = [commits_chart(_title(trend), trend) for trend in drawable[:DRAWN]]
    if not charts:
        return None
    left = len(drawable) - len(charts)
    more = f" {left} more are in the table only." if left else ""
    about = element("p", ABOUT + more, class_="aside")
    return titled(3, "Charts", about, element("div", charts, class_="charts"))


def _interest(trend: Trend) -> tuple[bool, bool, float]:
    """Return the key that sorts trends: those with creep first, then with changes, then by how much
    the last points differ.
    """
    recent = 0.0 if trend.recent is None else abs(trend.recent.change)
    return trend.creep is None, not trend.changes, -recent


def _title(trend: Trend) -> str:
    return f"{trend.nodeid}, {trend.metric}: last 3 against earlier {render_recent(trend)}"
