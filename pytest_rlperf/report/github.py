"""What GitHub Actions shows of a run: annotations at lines, and the job's summary."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pytest_rlperf.model.metric import MetricFamily, Outcome
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.profile.report import Place, guilty_place
from pytest_rlperf.report.kpis import render_kpi_alerts
from pytest_rlperf.report.markdown import render_markdown
from pytest_rlperf.report.terminal import render_failure
from pytest_rlperf.report.text import worst_first

SUMMARY_BYTES = 2**20
"""GitHub drops the summary of a step that is larger."""


def run_address(environ: Mapping[str, str]) -> str | None:
    """Return the address of the page that shows this run; None: it is none of GitHub's."""
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    server, repository, run = (environ.get(name) for name in names)
    if not (server and repository and run):
        return None
    return f"{server}/{repository}/actions/runs/{run}"


def render_annotations(
    run: RunResult, places: Mapping[str, Place], environ: Mapping[str, str]
) -> list[str]:
    """Return a workflow command for each regression and KPI alert, worst test first: GitHub shows
    ten of a step. A regression stands at the line that made it; where none is blamed, and for an
    alert, it is that of the test, which `places` holds.
    """
    if environ.get("GITHUB_ACTIONS") != "true":
        return []
    folder = environ.get("GITHUB_WORKSPACE", "")
    return [
        _annotation(f"{word}: {test.nodeid}", text, guilty or places.get(test.nodeid), folder)
        for test in sorted(run.tests, key=worst_first)
        for word, text, guilty in _complaints(test, run, folder)
    ]


def _complaints(
    test: TestResult, run: RunResult, folder: str
) -> Iterator[tuple[str, str, Place | None]]:
    """Yield a word, a text and the guilty line for each annotation of a test."""
    if test.outcome is Outcome.REGRESSED:
        yield _worse(test), render_failure(test, run.against), guilty_place(test, folder)
    for text in render_kpi_alerts(run, test.nodeid):
        yield "KPI alert", text, None


def _worse(test: TestResult) -> str:
    regressed = {metric.family for metric in test.judged if metric.outcome is Outcome.REGRESSED}
    return "Slower" if regressed - {MetricFamily.MEMORY} else "Larger"


def _annotation(title: str, text: str, place: Place | None, folder: str) -> str:
    where = {}
    if place is not None:
        where["file"] = _relative(place.file, folder)
        where |= {} if place.line is None else {"line": str(place.line)}
    where["title"] = title
    properties = ",".join(f"{name}={_property(value)}" for name, value in where.items())
    return f"::error {properties}::{_data(text)}"


def _relative(file: Path, folder: str) -> str:
    """Return the path in the repository, by which GitHub knows files."""
    inside = bool(folder) and file.is_relative_to(folder)
    return (file.relative_to(folder) if inside else file).as_posix()


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def write_job_summary(
    run: RunResult, notices: Sequence[str], environ: Mapping[str, str]
) -> str | None:
    """Append to the step's summary where there is one; return what went wrong, if anything did."""
    name = environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return None
    try:
        with open(name, "ab") as file:
            room = SUMMARY_BYTES - os.fstat(file.fileno()).st_size
            text = render_markdown(run, notices, most_bytes=room).encode()
            if len(text) > room:
                return f"the job summary {name} is full; write it in a step of its own."
            file.write(text)
    except OSError as error:  # the verdicts stand without it
        return f"the job summary {name} cannot be written: {error.strerror}."
    return None
