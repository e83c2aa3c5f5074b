"""KPIs as text."""

from collections import Counter
from collections.abc import Sequence

from pytest_rlperf.model.kpi import Kpi, KpiMetric, KpiResult, Reading, Status
from pytest_rlperf.model.metric import Direction
from pytest_rlperf.model.result import Fingerprint, RunResult
from pytest_rlperf.report.text import Rows, StyledLine, table_lines

WORDS = {
    Status.ALERT: "ALERT",
    Status.MISSED: "missed",
    Status.NOT_MEASURED: "not measured",
    Status.MET: "met",
}
"""Worst first."""
PER = {KpiMetric.TIME: " a call", KpiMetric.STEP_TIME: " a step", KpiMetric.FIRST_CALL: " at first"}


def render_kpi_table(run: RunResult) -> list[StyledLine]:
    """Return a line a KPI and test, worst first, then what the numbers do not show."""
    if not run.kpis:
        return []
    results = _worst_first(run.kpis)
    table = table_lines(kpi_rows(results), (result.status for result in results))
    return [StyledLine(render_kpi_title(run)), *table, *map(StyledLine, kpi_remarks(results))]


def render_kpi_title(run: RunResult) -> str:
    return f"KPIs on {render_machine(run.fingerprint)}: {_summary(run.kpis)}"


def kpi_rows(results: Sequence[KpiResult]) -> Rows:
    """Return the titles and a row for each KPI and test, worst first."""
    head = ["", "KPI", "value", "target", "alert", "test"]
    return [head, *map(_row, _worst_first(results))] if results else []


def _worst_first(results: Sequence[KpiResult]) -> list[KpiResult]:
    return sorted(results, key=lambda result: list(WORDS).index(result.status))


def render_machine(fingerprint: Fingerprint) -> str:
    """Return the machine in a few words: an absolute time means nothing without it."""
    cores = fingerprint.get("cores")
    counted = "" if cores is None else ", 1 core" if cores == 1 else f", {cores} cores"
    return f"{fingerprint.get('cpu', 'an unknown CPU')}{counted}"


def _summary(results: Sequence[KpiResult]) -> str:
    counts = Counter(result.status for result in results)
    return ", ".join(f"{counts[s]} {WORDS[s].lower()}" for s in WORDS if counts[s])


def _row(result: KpiResult) -> list[str]:
    kpi = result.kpi
    return [
        WORDS[result.status],
        kpi.name,
        render_reading(result.reading, kpi) if result.reading else "",
        _target(kpi),
        render_alert(kpi),
        result.nodeid or "",
    ]


def kpi_remarks(results: Sequence[KpiResult]) -> list[str]:
    """Return what rows do not show: why a KPI was not measured, that an alert is not certain."""
    return [
        f"{r.kpi.name}: {WORDS[r.status]}: {r.reason}"
        for r in results
        if r.reading is None
        or (r.status is Status.MISSED and r.kpi.is_worse(r.reading.value, than=r.kpi.alert))
    ]


def render_reading(reading: Reading, kpi: Kpi) -> str:
    """Return "0.82 ± 0.031 ms a step"."""
    few = {1: " (measured once)", 2: " (measured twice)"}.get(reading.blocks, "")
    value, margin = _digits(reading.value), _digits(reading.margin, 2)
    return f"{value} ± {margin} {kpi.unit}{PER.get(kpi.metric, '')}{few}"


def _target(kpi: Kpi) -> str:
    return f"{'≤' if kpi.direction is Direction.LOWER else '≥'} {_digits(kpi.target)} {kpi.unit}"


def render_alert(kpi: Kpi) -> str:
    """Return "> 5 ms": what is beyond the alert."""
    return f"{'>' if kpi.direction is Direction.LOWER else '<'} {_digits(kpi.alert)} {kpi.unit}"


def _digits(value: float, digits: int = 3) -> str:
    return f"{value:,.0f}" if abs(value) >= 99.5 else f"{value:.{digits}g}"


def render_kpi_alerts(run: RunResult, nodeid: str) -> list[str]:
    """Return a text for each KPI that fails this test."""
    return [
        f"KPI ALERT: {r.kpi.name} is {render_reading(r.reading, r.kpi)}, "
        f"alert {render_alert(r.kpi)}\n"
        f"  why: {r.reason}; the target is {_target(r.kpi)}\n"
        f"  measured on {render_machine(run.fingerprint)}"
        for r in run.kpis
        if r.nodeid == nodeid and r.status is Status.ALERT and r.reading is not None
    ]
