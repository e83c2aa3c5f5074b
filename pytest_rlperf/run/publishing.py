"""Where a finished run is written: the files that were asked for, and GitHub where that runs it."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from pytest_rlperf.model.result import RunResult
from pytest_rlperf.options import Settings
from pytest_rlperf.report.export import run_as_dict, write_json
from pytest_rlperf.report.folder import write_report
from pytest_rlperf.report.github import render_annotations, write_job_summary
from pytest_rlperf.report.places import Place
from pytest_rlperf.run.past import history_on


@dataclass(frozen=True, slots=True)
class Published:
    """What is left to be said in the terminal."""

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
    """A file that cannot be written does not take the others with it, nor what was measured."""
    content = run_as_dict(run, exit_code)
    past = None if settings.report is None else history_on(root, settings.history, content)
    report = partial(write_report, run=run, content=content, notices=notices, history=past)
    tried = (
        _problem(settings.json, partial(write_json, content=content)),
        _problem(settings.report, report),
    )
    problems = [problem for problem in tried if problem is not None]
    summary = write_job_summary(run, notices, os.environ)
    places = {item.nodeid: _place(item) for item in items}
    return Published(
        notices=(*problems, *([] if summary is None else [summary])),
        annotations=tuple(render_annotations(run, places, os.environ)),
        complete=not problems,
    )


def _problem(path: Path | None, write: Callable[[Path], None]) -> str | None:
    """The folder was writable when the run began; a disk can be full by now."""
    if path is None:
        return None
    try:
        write(path)
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}; what it would have held stands above."
    return None


def _place(item: pytest.Item) -> Place:
    line = item.location[1]
    return Place(item.path, None if line is None else line + 1)
