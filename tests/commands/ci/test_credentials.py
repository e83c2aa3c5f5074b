"""Pushing as the job: git sends the token to GitHub, and keeps it nowhere."""

import base64
import subprocess
from pathlib import Path

import pytest

from pytest_rlperf.commands.ci.credentials import credentials
from tests.servers import Answer, serving


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
