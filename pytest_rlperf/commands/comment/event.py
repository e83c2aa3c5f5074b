"""What GitHub says of the event that started this job, and what the artifact says beside it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_rlperf.errors import UsageError
from pytest_rlperf.report.github import run_address

NUMBER_FILE = "pull-request"
"""In the folder of the report: what a job of a pull request leaves for the one that comments."""
NUMBER = re.compile(rb"[1-9][0-9]{0,9}\n?")


@dataclass(frozen=True, slots=True)
class Claim:
    """The pull request that a report is said to be of. All but the number comes from GitHub."""

    number: int
    head_sha: str
    head_repository: str | None  # None: deleted since
    run_url: str | None


def read_claim(environ: Mapping[str, str], folder: Path) -> Claim:
    event = _event(environ)
    try:
        if "workflow_run" in event:
            return _of_workflow_run(event["workflow_run"], folder)
        if "pull_request" in event:
            return _of_pull_request(event["pull_request"], environ)
    except (KeyError, TypeError) as error:
        raise UsageError(
            f"the event of this job lacks {error}, which GitHub sends; run this on GitHub Actions."
        ) from None
    raise UsageError(
        "this job was started by neither pull_request nor workflow_run, so there is no pull "
        "request to comment on; start it by one of them."
    )


def pull_request_number(environ: Mapping[str, str]) -> int | None:
    """Of a job that pull_request started; None: something else did."""
    if not environ.get("GITHUB_EVENT_PATH"):
        return None
    number = (_event(environ).get("pull_request") or {}).get("number")
    return number if isinstance(number, int) else None


def _event(environ: Mapping[str, str]) -> dict[str, Any]:
    path = environ.get("GITHUB_EVENT_PATH", "")
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        content = None
    if not isinstance(content, dict):
        raise UsageError("GITHUB_EVENT_PATH names no event; run this on GitHub Actions.")
    return content


def _of_workflow_run(run: Mapping[str, Any], folder: Path) -> Claim:
    return Claim(
        number=_number(folder / NUMBER_FILE),
        head_sha=run["head_sha"],
        head_repository=_name(run["head_repository"]),
        run_url=run["html_url"],
    )


def _of_pull_request(pull: Mapping[str, Any], environ: Mapping[str, str]) -> Claim:
    head = pull["head"]
    return Claim(pull["number"], head["sha"], _name(head["repo"]), run_address(environ))


def _name(repository: Mapping[str, Any] | None) -> str | None:
    return None if repository is None else repository["full_name"]


def _number(path: Path) -> int:
    """A fork wrote it: a number, or nothing at all."""
    try:
        with path.open("rb") as file:
            text = file.read(16)
    except OSError:
        text = b""
    if not NUMBER.fullmatch(text):
        raise UsageError(
            f"{path} holds no number of a pull request; the job that measures writes it there."
        )
    return int(text)
