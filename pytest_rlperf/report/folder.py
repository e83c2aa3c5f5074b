"""`--rlperf-report`: a folder for people and for programs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_rlperf.model.result import RunResult
from pytest_rlperf.model.trend import History
from pytest_rlperf.report.export import write_json
from pytest_rlperf.report.markdown import render_markdown
from pytest_rlperf.report.page.document import render_page
from pytest_rlperf.report.page.flames import load_flames
from pytest_rlperf.store.atomic import write_atomically


def write_report(
    folder: Path,
    run: RunResult,
    content: dict[str, Any],
    notices: Sequence[str],
    history: History | None = None,
) -> None:
    """`content` is the run as `--rlperf-json` has it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "report.json", content)
    write_atomically(folder / "report.md", render_markdown(run, notices))
    page = render_page(run, notices, load_flames(run, folder), history)
    write_atomically(folder / "report.html", page)
