"""What pytest is told of a run: each test's verdict as the reports of its phases."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.model.verdict import UNSURE, Outcome
from pytest_rlperf.report.kpis import render_kpi_alerts
from pytest_rlperf.report.scaling import render_efficiency_lost
from pytest_rlperf.report.terminal import render_failure

LETTERS = {
    Outcome.ACCEPTED: "a",
    Outcome.INCONCLUSIVE: "?",
    Outcome.INCOMPARABLE: "≠",
    Outcome.NO_BASELINE: "-",
}
OUTCOME_PROPERTY = "rlperf_outcome"


def report_tests(session: pytest.Session, run: RunResult, strict: bool) -> None:
    """To the terminal, JUnit and whoever else listens, as if the tests had just run."""
    items = {item.nodeid: item for item in session.items}
    for test in run.tests:
        item = items[test.nodeid]
        with _logged(item):
            for report in _reports(item, test, run, strict):
                item.config.hook.pytest_runtest_logreport(report=report)


def status_of(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """The word and letter of a test that passed without being plainly all right."""
    found = dict(getattr(report, "user_properties", ())).get(OUTCOME_PROPERTY)
    if report.when != "call" or not report.passed or found is None:
        return None
    outcome = Outcome(str(found))
    if outcome in LETTERS:
        word = outcome.value.replace("_", " ")
        return word, LETTERS[outcome], word.upper()
    return None


@contextmanager
def _logged(item: pytest.Item) -> Iterator[None]:
    hook = item.config.hook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    yield
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _reports(
    item: pytest.Item, test: TestResult, run: RunResult, strict: bool
) -> list[pytest.TestReport]:
    outcome, text = _outcome(item, test, run, strict)
    seconds = sum(sum(block.head.wall_ns) for block in test.blocks) / 1e9
    verdict = [(OUTCOME_PROPERTY, test.outcome.value)]
    sections = list(test.failure.sections) if test.failure else []
    return [
        _report(item, "passed", None, "setup", [], 0.0, []),
        _report(item, outcome, text, "call", sections, seconds, verdict),
        # JUnit takes the properties of a test from its last report.
        _report(item, "passed", None, "teardown", [], 0.0, verdict),
    ]


def _outcome(
    item: pytest.Item, test: TestResult, run: RunResult, strict: bool
) -> tuple[str, object]:
    if test.skipped is not None:
        path, line, _ = item.location
        return "skipped", (path, (line or 0) + 1, f"Skipped: {test.skipped}")
    texts = [*render_efficiency_lost(run, test.nodeid), *render_kpi_alerts(run, test.nodeid)]
    gated = test.size is None or test.size.gated
    unsure = strict and gated and test.outcome in UNSURE
    if test.outcome in (Outcome.FAILED, Outcome.REGRESSED) or unsure:
        texts.insert(0, render_failure(test, run.against))
    return ("failed", "\n".join(texts)) if texts else ("passed", None)


def _report(
    item: pytest.Item,
    outcome: str,
    longrepr: object,
    when: str,
    sections: list[tuple[str, str]],
    seconds: float,
    properties: Sequence[tuple[str, object]],
) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords=dict.fromkeys(item.keywords, 1),
        outcome=outcome,  # type: ignore[arg-type]
        longrepr=longrepr,  # type: ignore[arg-type]
        when=when,  # type: ignore[arg-type]
        sections=sections,
        duration=seconds,
        user_properties=[*item.user_properties, *properties],
    )
