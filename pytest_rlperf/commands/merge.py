"""`rlperf merge RESULT ...`: one result, one report and one exit code of several runs.

The results are those of all shards of a suite; or, with `--onto`, of some tests that are laid over
a full result.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import read_figure, write_atomically, write_for_user
from pytest_rlperf.gate.publishing import report_files
from pytest_rlperf.history.branch import NAME, history_on
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.report.page.parts import FAILING, MOST_BYTES
from pytest_rlperf.report.result_file import ResultContent, read_run, result_text, run_as_dict
from pytest_rlperf.report.terminal import render_failure, render_sections
from pytest_rlperf.report.text import render_summary, worst_first
from pytest_rlperf.shards.onto import lay_over
from pytest_rlperf.shards.union import FinishedRun, union


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "results",
        metavar="RESULT",
        type=Path,
        nargs="+",
        help="what --rlperf-json wrote of each shard; with --onto one of any run will do",
    )
    parser.add_argument(
        "--onto", metavar="FULL", type=Path, help="the full result that is renewed in part"
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="where to write the one result")
    parser.add_argument(
        "--report", metavar="DIR", type=Path, help="where to write the one report of it"
    )


def run(arguments: Namespace) -> int:
    merged = merge(arguments.results, arguments.onto)
    if arguments.report is not None:
        merged = write_report(merged, arguments.report)
    if arguments.output is not None:
        write_for_user(arguments.output, result_text(content_of(merged)))
    print("\n".join(lines_of(merged.run)))
    return merged.exit_code


def merge(paths: Sequence[Path], onto: Path | None = None) -> FinishedRun:
    """Return what the results in these files come to; raises a sentence where they do not fit."""
    results = [_measured(path) for path in paths]
    if onto is None:
        return union(results)
    top = results[0] if len(results) == 1 else union(results)
    return lay_over(_measured(onto), top)


def _measured(path: Path) -> FinishedRun:
    measured, content = read_run(path)
    return FinishedRun(path, measured, content.get("exit_code", 0))


def content_of(merged: FinishedRun) -> ResultContent:
    return run_as_dict(merged.run, merged.exit_code)


def lines_of(run: RunResult) -> list[str]:
    """Return what the terminal shows of a run: those tests that fail, then all of them."""
    failing = sorted((test for test in run.tests if test.outcome in FAILING), key=worst_first)
    failures = [
        line
        for test in failing
        for line in (f"{test.nodeid}:", render_failure(test, run.against), "")
    ]
    title = f"rlperf: {render_summary(run) or 'no tests'} in {run.seconds:.0f} s"
    return [*failures, title, "", *(line.text for line in render_sections(run))]


# -- the report -----------------------------------------------------------------------------------


def write_report(merged: FinishedRun, folder: Path) -> FinishedRun:
    """Write the report with its figures, and return the result as it names them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        merged = replace(merged, run=_with_figures(merged.run, folder))
        content = content_of(merged)
        history = history_on(Path.cwd(), NAME, content)
        for path, write in report_files(
            folder, merged.run, lambda: content, lambda: history
        ).items():
            write(path)
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written ({error.strerror}); name another folder with --report."
        ) from None
    return merged


def _with_figures(run: RunResult, folder: Path) -> RunResult:
    """Copy the figures of all runs into the folder: the report then has them wherever it goes."""
    taken: set[str] = set()
    return replace(run, tests=tuple(_with_figure(test, folder, taken) for test in run.tests))


def _with_figure(test: TestResult, folder: Path, taken: set[str]) -> TestResult:
    why = test.explanation
    content = None if why is None or why.graph is None else read_figure(why.graph, MOST_BYTES)
    if why is None or why.graph is None or content is None:
        return test
    name, number = why.graph.name, 2
    while name in taken:  # figures of several folders may be named alike
        name, number = f"{why.graph.stem}-{number}{why.graph.suffix}", number + 1
    taken.add(name)
    write_atomically(folder / name, content)
    return replace(test, explanation=replace(why, graph=(folder / name).absolute()))
