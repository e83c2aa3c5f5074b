"""One test in the page: a line that says how it ended, and below it all that is known of it."""

from pytest_rlperf.model.metric import COMPARED, TIME, Metric
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.report.categories import UNCATEGORISED
from pytest_rlperf.report.metrics import render_change, render_interval_of
from pytest_rlperf.report.page.charts import strip
from pytest_rlperf.report.page.markup import Child, Markup, anchor, element
from pytest_rlperf.report.page.parts import (
    Flame,
    alarms,
    decisive,
    failure_part,
    memory_part,
    repeat_part,
    tables_part,
    time_part,
    why_part,
    witness_part,
)
from pytest_rlperf.report.text import WORDS


def render_card(
    test: TestResult, run: RunResult, *, reach: float, is_open: bool, flame: Flame | None
) -> Markup:
    """`reach` is the largest change that the strips show; `flame` the flame graph, if any."""
    body = element(
        "div",
        failure_part(test),
        time_part(test, run),
        why_part(test, flame),
        tables_part(test, run),
        memory_part(test),
        witness_part(test),
        repeat_part(test),
        class_="body",
    )
    return element(
        "li",
        element("details", _summary(test, run, reach), body, open=is_open),
        id=anchor(test.nodeid),
        class_=f"test {test.outcome.value}",
        data_outcome=test.outcome.value,
        data_category=test.spec.category or UNCATEGORISED,
    )


def _summary(test: TestResult, run: RunResult, reach: float) -> Markup:
    told = decisive(test)
    names = dict.fromkeys(alarm.name for alarm in alarms(test, run))
    return element(
        "summary",
        element("span", _badge(test), [element("span", n, class_="badge alarm") for n in names]),
        element("h3", _name(test.nodeid)),
        element("span", None if told is None else _change(told), class_="change"),
        None if told is None else _strip(told, reach),
    )


def _change(metric: Metric) -> list[Child]:
    """Return its change with the interval; time needs no name: most changes are its own."""
    name = "" if metric.name == TIME else f"{metric.name} "
    interval = element("span", render_interval_of(metric), class_="interval")
    change = render_change(metric)
    return [name, element("b", change), " ", interval] if change else []


def _strip(metric: Metric, reach: float) -> Markup | None:
    v = metric.verdict
    if metric.name != TIME or v.interval is None:
        return None
    return strip(v.interval, v.threshold if v.outcome in COMPARED else None, reach)


def _badge(test: TestResult) -> Markup:
    severity = f" · {test.severity.value}" if test.severity else ""
    return element("span", f"{WORDS[test.outcome].lower()}{severity}", class_="badge")


def _name(nodeid: str) -> Markup:
    file, colons, name = nodeid.partition("::")
    where = element("span", f"{file}{colons}", class_="file") if colons else None
    return element("code", where, name or file, class_="nodeid")
