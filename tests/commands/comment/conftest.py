"""A job on GitHub, as `rlperf comment` finds it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf.cli import main
from pytest_rlperf.commands import comment
from pytest_rlperf.model.result import RunResult
from pytest_rlperf.report.result_file import run_as_dict, write_json
from pytest_rlperf.web import Patience
from tests.commands.comment.stand_in import NUMBER, REPOSITORY, TOKEN, WORKFLOW_RUN, GitHubStandIn
from tests.servers import Server, serving


@dataclass(frozen=True)
class Job:
    """The environment of a job, and the report that another one left."""

    folder: Path
    event_file: Path
    server: Server

    def event(self, event: Mapping[str, Any]) -> None:
        self.event_file.write_text(json.dumps(event))

    def report(self, run: RunResult, number: str | None = f"{NUMBER}\n") -> None:
        self.folder.mkdir(exist_ok=True)
        write_json(self.folder / "report.json", run_as_dict(run, 0))
        if number is not None:
            (self.folder / "pull-request").write_text(number)

    def comment(self, *options: str) -> int:
        return main(["comment", str(self.folder), *options])

    @property
    def asked(self) -> list[str]:
        """What changed something."""
        return [asked.method for asked in self.server.asked if asked.method != "GET"]


@pytest.fixture
def github() -> Iterator[GitHubStandIn]:
    stand_in = GitHubStandIn()
    yield stand_in
    assert stand_in.wrong == []


@pytest.fixture
def job(github: GitHubStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    monkeypatch.setattr(comment, "Patience", partial(Patience, sleep=lambda seconds: None))
    with serving(github) as server:
        environment = {
            "GITHUB_API_URL": server.url,
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_RUN_ID": "77",
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_TOKEN": TOKEN,
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        found = Job(tmp_path / "rlperf-report", tmp_path / "event.json", server)
        found.event(WORKFLOW_RUN)
        yield found
