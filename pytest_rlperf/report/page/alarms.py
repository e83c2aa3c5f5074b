"""What fails a test whose own verdicts are all right: KPI alerts and lost efficiency."""

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.report.kpis import render_kpi_alerts
from pytest_rlperf.report.scaling import render_efficiency_lost

FAILING = (Outcome.REGRESSED, Outcome.FAILED)


@dataclass(frozen=True, slots=True)
class Alarm:
    name: str  # for the line of the test
    text: str


def alarms(test: TestResult, run: RunResult) -> Iterator[Alarm]:
    for text in render_kpi_alerts(run, test.nodeid):
        yield Alarm("KPI alert", text)
    for text in render_efficiency_lost(run, test.nodeid):
        yield Alarm("efficiency lost", text)


def fails(test: TestResult, run: RunResult) -> bool:
    return test.outcome in FAILING or any(alarms(test, run))
