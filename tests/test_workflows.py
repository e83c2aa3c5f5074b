"""What our own workflows and hook promise: when they run, on what, and with which rights."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_rlperf.commands import COMMANDS
from tests.action import ACTION, action

ROOT = Path(__file__).parents[1]
WORKFLOWS = ROOT / ".github/workflows"
OURS = "./.github/actions/rlperf"
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
MAY_WRITE = {"record": {"contents"}, "comment": {"pull-requests"}, "publish": {"id-token"}}
"""All else may read at most, and what a pull request starts is not among them."""


def workflow(name: str) -> dict[Any, Any]:
    content: dict[Any, Any] = yaml.safe_load((WORKFLOWS / name).read_text())
    return content


def started_by(name: str) -> dict[str, Any]:
    found: dict[str, Any] = workflow(name)[True]  # YAML 1.1 reads `on` as true
    return found


def step_of(job: str) -> dict[str, str]:
    """Return the inputs that a job hands to the action."""
    steps = workflow("rlperf.yml")["jobs"][job]["steps"]
    (step,) = [step for step in steps if step.get("uses") == OURS]
    given: dict[str, str] = step["with"]
    return given


def test_a_pull_request_plays_the_duet_with_a_clone_that_has_the_merge_base():
    assert "pull_request" in started_by("rlperf.yml")
    job = workflow("rlperf.yml")["jobs"]["duet"]
    assert job["if"] == "github.event_name == 'pull_request'"
    assert step_of("duet").get("task", action()["inputs"]["task"]["default"]) == "compare"
    assert job["steps"][0]["with"]["fetch-depth"] == 0


def test_the_main_branch_is_recorded_and_once_a_week_with_more_time():
    on = started_by("rlperf.yml")
    assert on["push"] == {"branches": ["main"]}
    ((minute, hour, day, month, weekday),) = [each["cron"].split() for each in on["schedule"]]
    assert (day, month) == ("*", "*")
    assert all(word.isdecimal() for word in (minute, hour, weekday))
    job = workflow("rlperf.yml")["jobs"]["record"]
    assert job["if"] == "github.event_name != 'pull_request' && github.ref == 'refs/heads/main'"
    given = step_of("record")
    assert given["task"] == "record"
    often, weekly = map(int, re.findall(r"'(\d+)'", given["budget"]))
    assert often < weekly < 60 * job["timeout-minutes"]


def test_a_fork_is_commented_on_by_a_workflow_of_the_main_branch():
    assert started_by("rlperf-comment.yml")["workflow_run"]["workflows"] == ["rlperf"]
    (job,) = workflow("rlperf-comment.yml")["jobs"].values()
    assert job["steps"][-1]["with"] == {"task": "comment"}


@pytest.mark.parametrize("name", ["rlperf.yml", "rlperf-comment.yml", "release.yml"])
def test_jobs_have_the_least_permissions(name: str):
    found = workflow(name)
    assert found["permissions"] == {}
    for job, content in found["jobs"].items():
        rights = content.get("permissions", {})
        assert {each for each, right in rights.items() if right != "read"} == MAY_WRITE.get(
            job, set()
        )


def test_a_release_publishes_what_was_checked_without_a_token_and_with_attestations():
    assert started_by("release.yml") == {"release": {"types": ["published"]}}
    jobs = workflow("release.yml")["jobs"]
    assert {"run": "make test-wheel"} in jobs["build"]["steps"]
    publish = jobs["publish"]
    assert publish["needs"] == "build"
    assert publish["environment"]["name"] == "pypi"
    download, upload = publish["steps"]
    assert download["with"] == {"name": "dist", "path": "dist"}
    assert upload["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert upload["with"] == {"attestations": True}
    assert "secrets." not in (WORKFLOWS / "release.yml").read_text()


@pytest.mark.parametrize(
    ("tag", "code"), [("v{}", 0), ("{}", 1), ("v{}.1", 1), ('v{}"; import os #', 1)]
)
def test_a_tag_that_is_not_the_version_ends_a_release(tag: str, code: int):
    steps = workflow("release.yml")["jobs"]["build"]["steps"]
    (step,) = [step for step in steps if "TAG" in step.get("env", {})]
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    env = {**os.environ, "TAG": tag.format(version)}
    words = [sys.executable, *shlex.split(step["run"])[1:]]
    assert subprocess.run(words, cwd=ROOT, env=env, capture_output=True).returncode == code


@pytest.mark.parametrize("path", [ACTION, *sorted(WORKFLOWS.glob("*.yml"))], ids=lambda p: p.name)
def test_actions_are_pinned_by_hash_and_at_most_one_finding_is_ignored(path: Path):
    text = path.read_text()
    used = re.findall(r"uses: (\S+)", text)
    assert used
    assert [each for each in used if each != OURS and not PINNED.fullmatch(each)] == []
    ignored = "".join(each.read_text() for each in (ACTION, *WORKFLOWS.glob("*.yml")))
    assert ignored.count("zizmor: ignore") <= 1


def test_the_hook_of_pre_commit_is_a_command_of_ours_before_a_push():
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, command = shlex.split(hook["entry"])
    assert program == "rlperf"
    assert command in COMMANDS
    assert hook["stages"] == ["pre-push"]
    assert hook["language"] == "system"  # the environment that has the project's packages
    assert hook["pass_filenames"] is False  # pytest would take them for tests
