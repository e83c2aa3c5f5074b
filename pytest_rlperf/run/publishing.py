"""Where a finished run is written: the files that were asked for, and GitHub where that runs it."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pytest

from pytest_rlperf.model.result import RunResult
from pytest_rlperf.options import Settings
from pytest_rlperf.report.export import run_as_dict, write_json
from pytest_rlperf.report.folder import write_report
from pytest_rlperf.report.github import Place, render_annotations, write_job_summary


@dataclass(frozen=True, slots=True)
class Published:
    """What is left to be said in the terminal."""

    notices: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()  # lines that GitHub reads


def publish(
    run: RunResult,
    exit_code: int,
    notices: Sequence[str],
    settings: Settings,
    items: Iterable[pytest.Item],
) -> Published:
    content = run_as_dict(run, exit_code)
    if settings.json is not None:
        write_json(settings.json, content)
    if settings.report is not None:
        write_report(settings.report, run, content, notices)
    problem = write_job_summary(run, notices, os.environ)
    places = {item.nodeid: _place(item) for item in items}
    return Published(
        notices=() if problem is None else (problem,),
        annotations=tuple(render_annotations(run, places, os.environ)),
    )


def _place(item: pytest.Item) -> Place:
    line = item.location[1]
    return Place(item.path, None if line is None else line + 1)
