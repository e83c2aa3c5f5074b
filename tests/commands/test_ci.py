"""Pushing as the job: git sends the token to GitHub, and keeps it nowhere."""

import base64
import json
import subprocess
from pathlib import Path

import pytest

from pytest_rlperf.cli import main
from pytest_rlperf.commands import ci
from pytest_rlperf.commands.ci import credentials
from tests.commands.comment.stand_in import PULL_REQUEST
from tests.servers import Answer, serving
from tests.trees.repositories import new_repository


@pytest.mark.parametrize("missing", ["GITHUB_TOKEN", "GITHUB_SERVER_URL"])
def test_outside_of_a_job_git_is_left_alone(missing: str):
    environ = {"GITHUB_TOKEN": "secret", "GITHUB_SERVER_URL": "https://github.example"}
    del environ[missing]
    assert credentials(environ) == {}


def test_git_sends_the_token_to_the_server_and_to_no_other(tmp_path: Path):
    nothing_there = lambda asked: Answer(404)  # noqa: E731
    with serving(nothing_there) as github, serving(nothing_there) as elsewhere:
        environ = {"GITHUB_TOKEN": "secret", "GITHUB_SERVER_URL": github.url}
        env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "GIT_TERMINAL_PROMPT": "0"}
        for server in (github, elsewhere):
            subprocess.run(
                ["git", "ls-remote", f"{server.url}/me/lib"],
                env={**env, **credentials(environ)},
                capture_output=True,
            )
    told = github.asked[0].headers["authorization"]
    assert base64.b64decode(told.removeprefix("basic ")) == b"x-access-token:secret"
    assert "authorization" not in elsewhere.asked[0].headers
    assert list(tmp_path.iterdir()) == []


def test_settings_that_somebody_else_handed_to_git_stay():
    environ = {
        "GITHUB_TOKEN": "secret",
        "GITHUB_SERVER_URL": "https://github.example",
        "GIT_CONFIG_COUNT": "2",
    }
    found = credentials(environ)
    assert found["GIT_CONFIG_COUNT"] == "3"
    assert found["GIT_CONFIG_KEY_2"] == "http.https://github.example/.extraheader"


# `rlperf ci compare` and `record`: what pytest is asked for, and what lies beside the report.


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What pytest would have got, in a repository."""
    found: list[list[str]] = []

    def keep(words: list[str]) -> int:
        found.append(words)
        return 1

    monkeypatch.setattr(ci, "run_pytest", keep)
    monkeypatch.chdir(new_repository(tmp_path / "repo", {"a.py": ""}))
    for name in ("GITHUB_BASE_REF", "GITHUB_EVENT_PATH"):
        monkeypatch.delenv(name, raising=False)
    return found


def test_a_pull_request_is_compared_with_its_merge_base_and_ends_as_pytest_does(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GITHUB_BASE_REF", "release/$(x)")
    assert main(["ci", "compare"]) == 1
    expected = ["--rlperf-against=origin/release/$(x)...", "--rlperf-report=rlperf-report"]
    assert asked == [["--rlperf", *expected]]


def test_its_number_lies_beside_the_report(
    asked: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "event.json").write_text(json.dumps(PULL_REQUEST))
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "event.json"))
    main(["ci", "compare", "--against=main", "--report=some/where"])
    assert Path("some/where/pull-request").read_text() == "12\n"


def test_inputs_are_handed_on_and_empty_ones_stand_for_the_default(asked: list[list[str]]):
    words = ["--against=v1", "--budget=90", "--report=", "--arguments=tests/perf -k 'a or b'"]
    main(["ci", "compare", *words])
    assert asked[0][1:] == [
        *("--rlperf-against=v1", "--rlperf-report=rlperf-report", "--rlperf-budget=90"),
        *("tests/perf", "-k", "a or b"),
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "this job is of no pull request, so there is no merge base; name a revision with "),
        (["--against=x", "--arguments=-k 'a"], '--arguments is "-k \'a", which no shell could '),
        (["--against=x", "--budget=soon"], "--budget is 'soon', which is no time; "),
    ],
)
def test_what_cannot_be_asked_for_is_one_sentence(
    words: list[str],
    said: str,
    asked: list[list[str]],
    capsys: pytest.CaptureFixture[str],
):
    assert main(["ci", "compare", *words]) == 4
    assert capsys.readouterr().err.startswith(f"rlperf: {said}")
    assert asked == []


def test_the_report_reads_the_history_of_the_branch_that_is_named(asked: list[list[str]]):
    for task in (["compare", "--against=v1"], ["record"]):
        main(["ci", *task, "--branch=other-data"])
        assert asked.pop()[-2:] == ["-o", "rlperf_history=other-data"]


def test_the_main_branch_is_saved_beside_the_report(asked: list[list[str]]):
    assert main(["ci", "record"]) == 1
    assert asked[0][1:] == [
        *("--rlperf-save=main", "--rlperf-baselines=rlperf-report/baselines"),
        "--rlperf-report=rlperf-report",
    ]
