"""What a card says of the time of its test, and how to see it again."""

import math
from collections.abc import Iterator

from pytest_rlperf.model.drift import Drift
from pytest_rlperf.model.extra import ExtraMetric
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.model.verdict import COMPARED
from pytest_rlperf.report.extras import extra_remarks, extra_rows
from pytest_rlperf.report.kpis import kpi_remarks, kpi_rows
from pytest_rlperf.report.page.alarms import alarms
from pytest_rlperf.report.page.anchors import anchor
from pytest_rlperf.report.page.charts.curves import Curve, curves_chart
from pytest_rlperf.report.page.charts.intervals import Row, interval_chart
from pytest_rlperf.report.page.charts.quantities import PLAIN, TIME
from pytest_rlperf.report.page.charts.sides import sides_chart
from pytest_rlperf.report.page.judged import TIME_METRIC, judged_metrics
from pytest_rlperf.report.page.markup import Markup, element, together
from pytest_rlperf.report.page.tables import bullets, facts, table, titled
from pytest_rlperf.report.phases import phase_rows
from pytest_rlperf.report.rank_facts import render_ranks
from pytest_rlperf.report.terminal import remarks, render_how, render_witnesses, time_rows
from pytest_rlperf.report.words import WORDS


def failure_part(test: TestResult) -> Markup | None:
    """Of a test that failed or was skipped."""
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
        _numbers(test, run) if test.timed else None,
        element("div", list(_charts(test)), class_=f"charts {test.verdict.outcome.value}"),
        bullets(_said(test)),
    )


def tables_part(test: TestResult, run: RunResult) -> Markup:
    own = [kpi for kpi in run.kpis if kpi.nodeid == test.nodeid]
    return together(
        table(extra_rows([test]), "Sizes and starts", last=False),
        table(phase_rows([test], run.against), "Phases", last=False),
        table(kpi_rows(own), "KPIs", last=False),
        bullets(kpi_remarks(own)),
    )


def _reasons(test: TestResult) -> Iterator[str]:
    """Of what decided how the test ended."""
    if test.failure is not None or test.skipped is not None:
        return
    for metric in judged_metrics(test):
        if metric.verdict.outcome is test.outcome:
            v = metric.verdict
            label = f" ({v.label})" if v.label else ""
            yield (
                f"{v.reason}{label}" if metric.name == TIME_METRIC else f"{metric.name}: {v.reason}"
            )


def _numbers(test: TestResult, run: RunResult) -> Markup | None:
    title, row = time_rows([test], run.against)
    # The outcome and the name stand in the line above.
    return facts(list(zip(title, row, strict=True))[1:-1])


def _said(test: TestResult) -> Iterator[str]:
    """What numbers and reason do not show."""
    told = f"{WORDS[test.verdict.outcome]}: {test.verdict.reason}"
    yield from (said for said in remarks(test) if not said.startswith(told))
    yield from extra_remarks(test)


def _charts(test: TestResult) -> Iterator[Markup]:
    v = test.verdict
    if test.timed and v.interval is not None:
        changes = [math.expm1(ratio) for ratio in test.log_ratios]
        allowed = v.threshold if v.outcome in COMPARED else None
        title = "Change of time: 95 % interval, and the blocks below it"
        if allowed is not None:
            title += "; shaded: more than allowed"
        yield interval_chart(title, [Row(v.interval)], threshold=allowed, blocks=changes)
    if test.blocks:
        head = [block.head.call_ns for block in test.blocks]
        base = [block.base.call_ns for block in test.blocks if block.base is not None]
        yield sides_chart("Time a call, block by block", head, base, TIME, met=True)
    if test.drift is not None and any(side.matters for side in test.drift.sides.values()):
        yield _drift_chart(test.drift)
    yield from (_sizes_chart(extra) for extra in test.extras if extra.head_ns)


def _drift_chart(drift: Drift) -> Markup:
    rows = [Row(side.change, name, name) for name, side in drift.sides.items()]
    return interval_chart(f"From the first to the last of {drift.slices} slices of a block", rows)


def _sizes_chart(extra: ExtraMetric) -> Markup:
    sides = {"base": extra.base_ns, "head": extra.head_ns}
    curves = [
        Curve(name, name, list(zip(extra.sizes, times, strict=True)))
        for name, times in sides.items()
        if times
    ]
    title = "Time a call over the size, both on logarithmic scales"
    return curves_chart(title, curves, PLAIN, TIME, log=True, measured=True)


def witness_part(test: TestResult) -> Markup | None:
    if not test.blocks:
        return None
    worked = ", ".join(f"{name} {value:g}" for name, value in test.blocks[-1].head.work.items())
    about = ", ".join(f"{name}: {value}" for name, value in test.spec.metadata.items())
    found = [
        ("measured", render_how(test) if test.plan else None),
        ("witnesses", render_witnesses(test)),
        ("ranks", render_ranks(test)),
        ("work of a call", worked),
        ("metadata", about),
    ]
    return titled(4, "How it was measured", facts(found))


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
