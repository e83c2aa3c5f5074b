"""All that was judged of a test, as one list."""

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.model.verdict import Verdict
from pytest_rlperf.report.extras import render_change
from pytest_rlperf.report.extras import render_interval_of as extra_interval
from pytest_rlperf.report.intervals import render_interval
from pytest_rlperf.report.memory import render_interval_of as memory_interval

TIME_METRIC = "time"


@dataclass(frozen=True, slots=True)
class Judged:
    """A metric as a line of the list shows it."""

    name: str
    verdict: Verdict
    change: str  # empty: nothing was compared
    interval: str


def judged_metrics(test: TestResult) -> Iterator[Judged]:
    """Time first."""
    v = test.verdict
    if test.timed or test.memory is None:
        yield Judged(TIME_METRIC, v, _percent(v), render_interval(v.interval) if v.interval else "")
    for found in test.memory.metrics if test.memory else ():
        yield Judged(
            found.metric.name, found.verdict, _percent(found.verdict), memory_interval(found)
        )
    for extra in test.extras:
        yield Judged(extra.name, extra.verdict, render_change(extra), extra_interval(extra))


def decisive(test: TestResult) -> Judged | None:
    """What decided how the test ended, and how bad it is; None: nothing was judged."""
    fitting = [each for each in judged_metrics(test) if each.verdict.outcome is test.outcome]
    worst = [each for each in fitting if each.verdict.severity is test.severity]
    return next(iter((*worst, *fitting)), None)


def _percent(verdict: Verdict) -> str:
    return format_percent(verdict.interval.change) if verdict.interval else ""
