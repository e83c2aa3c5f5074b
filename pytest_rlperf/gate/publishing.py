"""Where a finished run goes: into the files that were asked for, to pytest as the reports of its
tests, and to GitHub where that runs it.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from pytest_rlperf.errors import never_fatal
from pytest_rlperf.files import file_stem, write_atomically
from pytest_rlperf.history.branch import history_on
from pytest_rlperf.history.records import History
from pytest_rlperf.model.learning import LearningResult
from pytest_rlperf.model.metric import UNSURE, Outcome
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.mpi.scaling import render_efficiency_lost
from pytest_rlperf.options import Settings
from pytest_rlperf.profile.report import Place
from pytest_rlperf.report.github import render_annotations, write_job_summary
from pytest_rlperf.report.kpis import render_kpi_alerts
from pytest_rlperf.report.markdown import render_markdown
from pytest_rlperf.report.page.document import render_page
from pytest_rlperf.report.page.parts import load_flames
from pytest_rlperf.report.result_file import ResultContent, run_as_dict, write_json
from pytest_rlperf.report.terminal import render_failure


@dataclass(frozen=True, slots=True)
class Published:
    """The outcome of publishing, and what is left to be said in the terminal."""

    notices: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()  # lines that GitHub reads
    complete: bool = True  # whether all files that were asked for are there


def publish(
    run: RunResult,
    exit_code: int,
    notices: Sequence[str],
    settings: Settings,
    items: Iterable[pytest.Item],
    root: Path,
) -> Published:
    """Write a run into all its places. A file that cannot be written does not take the others with
    it, nor what was measured.
    """
    problems: list[str] = []
    notes: list[str] = []
    annotations: list[str] = []
    for path, write in _files(run, exit_code, notices, settings, root).items():
        with never_fatal(partial(_note_missing, problems, path)):
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path)
    with never_fatal(lambda why: notes.append(f"no job summary: {why}")):
        notes += filter(None, [write_job_summary(run, notices, os.environ)])
    with never_fatal(lambda why: notes.append(f"no annotations: {why}")):
        places = {item.nodeid: _place(item) for item in items}
        annotations += render_annotations(run, places, os.environ)
    return Published((*problems, *notes), tuple(annotations), complete=not problems)


def _files(
    run: RunResult, exit_code: int, notices: Sequence[str], settings: Settings, root: Path
) -> dict[Path, Callable[[Path], None]]:
    """Return the files that were asked for, with what writes each."""
    content = cache(lambda: run_as_dict(run, exit_code))
    files: dict[Path, Callable[[Path], None]] = {}
    if settings.report is not None:
        files = report_files(
            settings.report,
            run,
            content,
            lambda: history_on(root, settings.history, content()),
            notices,
        )
    if settings.json is not None:
        files[settings.json] = lambda path: write_json(path, content())
    return files


def _note_missing(problems: list[str], path: Path, why: str) -> None:
    problems.append(f"{path} cannot be written: {why}; what it would have held stands above.")


def _place(item: pytest.Item) -> Place:
    line = item.location[1]
    return Place(item.path, None if line is None else line + 1)


def report_files(
    folder: Path,
    run: RunResult,
    content: Callable[[], ResultContent],
    history: Callable[[], History | None],
    notices: Sequence[str] = (),
) -> dict[Path, Callable[[Path], None]]:
    """Return the files of `--rlperf-report`, with what writes each; `content` returns
    the run as `--rlperf-json` has it.
    """

    def write_page(path: Path) -> None:
        write_atomically(path, render_page(run, notices, load_flames(run, folder), history()))

    return {
        folder / "report.json": lambda path: write_json(path, content()),
        folder / "report.md": lambda path: write_atomically(path, render_markdown(run, notices)),
        folder / "report.html": write_page,
        **_figures(folder, run),
    }


def _figures(folder: Path, run: RunResult) -> dict[Path, Callable[[Path], None]]:
    """Return the figures of what tests learned, where they can be drawn."""
    if find_spec("matplotlib") is None:
        return {}
    return {
        folder / f"{file_stem(test.nodeid)}-curves.svg": partial(_write_figure, test, test.learning)
        for test in run.tests
        if test.learning is not None and test.learning.has_curves
    }


def _write_figure(test: TestResult, learning: LearningResult, path: Path) -> None:
    from pytest_rlperf.report.learning_figure import learning_figure

    write_atomically(path, learning_figure(test, learning))


# -- the reports that pytest gets: each test's verdict as those of its phases --------------------

LETTERS = {
    Outcome.ACCEPTED: "a",
    Outcome.INCONCLUSIVE: "?",
    Outcome.NOT_MEASURED: "~",
    Outcome.INCOMPARABLE: "≠",
    Outcome.NO_BASELINE: "-",
    Outcome.SAME_CODE: "=",
    Outcome.IDENTICAL: "=",
}
OUTCOME_PROPERTY = "rlperf_outcome"


def report_tests(session: pytest.Session, run: RunResult, strict: bool) -> None:
    """Report to the terminal, JUnit and whoever else listens, as if the tests had just run."""
    items = {item.nodeid: item for item in session.items}
    hook = session.config.hook
    for test in run.tests:
        item = items[test.nodeid]
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in _reports(item, test, run, strict):
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def status_of(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Return word and letter of a test that passed without being plainly all right."""
    value = dict(getattr(report, "user_properties", ())).get(OUTCOME_PROPERTY)
    if report.when != "call" or not report.passed or value is None:
        return None
    outcome = Outcome(str(value))
    if outcome not in LETTERS:
        return None
    word = outcome.value.replace("_", " ")
    return word, LETTERS[outcome], word.upper()


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
    texts: list[str] = []
    with never_fatal(lambda why: texts.append(f"the rest cannot be told: {why}")):
        texts += _failings(test, run, strict)
    return ("failed", "\n".join(texts)) if texts else ("passed", None)


def _failings(test: TestResult, run: RunResult, strict: bool) -> Iterator[str]:
    """Yield why a test fails; nothing of one that passes."""
    gated = test.size is None or test.size.gated
    unsure = strict and gated and test.outcome in UNSURE
    if test.outcome in (Outcome.FAILED, Outcome.REGRESSED) or unsure:
        yield render_failure(test, run.against)
    yield from render_efficiency_lost(run, test.nodeid)
    yield from render_kpi_alerts(run, test.nodeid)


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
