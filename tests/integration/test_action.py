"""The GitHub action, step by step, in the environment that GitHub gives it."""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.action import action, script

from .projects import NO_CACHE, OWN_PLUGIN, Ended, Project, Workshop
from .stored import COARSE, TESTS, library

FIRST = {"lib.py": library(), "tests/test_perf.py": TESTS}
ARGUMENTS = " ".join([*OWN_PLUGIN, *NO_CACHE])
DATA = "origin/rlperf-data"
WITHOUT_TOKEN = {
    *("Measure", "Upload the report", "Download the reports of all shards", "Merge the shards"),
}
KEEP = "Keep history and baselines on the data branch"


def run_step(
    project: Project, name: str, inputs: Mapping[str, str], env: Mapping[str, str] | None = None
) -> Ended:
    step = script(name, python=sys.executable, **inputs)
    return project.start_command(step.command, env={**step.env, **(env or {})}).wait()


@pytest.fixture
def project(workshop: Workshop, request: pytest.FixtureRequest) -> Project:
    project = workshop.project(f"action-{request.node.name}", FIRST)
    project.add_remote()
    return project


def on_data_branch(project: Project) -> list[str]:
    project.git("fetch", "--quiet", "origin")
    return project.git("ls-tree", "-r", "--name-only", DATA).splitlines()


def test_a_pull_request_is_compared_and_leaves_its_number_beside_the_report(project: Project):
    project.commit({"lib.py": library(work_ms=1.5)})
    event = project.folder.parent / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 12}}))
    summary = project.folder.parent / "summary.md"
    env = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_BASE_REF": "main",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    inputs = {"arguments": f"{ARGUMENTS} -k work"}
    ended = run_step(project, "Measure", inputs, env)
    assert ended.code == 1, ended.text
    assert "against merge base with origin/main" in ended.text
    assert "::error file=" in ended.text
    assert "1 regressed" in summary.read_text()
    report = project.folder / "rlperf-report"
    assert (report / "pull-request").read_text() == "12\n"
    assert json.loads((report / "report.json").read_text())["exit_code"] == 1


def test_the_main_branch_is_compared_with_its_baselines_which_are_renewed_on_the_data_branch(
    project: Project,
):
    how = {"task": "record", "arguments": f"{ARGUMENTS} {COARSE} -k work"}
    assert run_step(project, "Measure", how).code == 0
    kept = run_step(project, KEEP, {"token": ""})
    assert kept.code == 0, kept.text
    first = on_data_branch(project)
    assert [Path(name).parts[0] for name in first] == ["baselines", "history"]
    assert "kept 1 file of baselines on the branch rlperf-data." in kept.text

    project.git("branch", "--quiet", "-D", "rlperf-data")  # as in the next job's clone
    project.commit({"README.md": "Hello.\n"})
    summary = project.folder.parent / "summary.md"
    summary.touch()
    ended = run_step(project, "Measure", how)
    assert ended.code == 0, ended.text
    assert re.search(r"rlperf: 1 (unchanged|slower|faster)", ended.text)
    assert run_step(project, KEEP, {"token": ""}, {"GITHUB_STEP_SUMMARY": str(summary)}).code == 0
    (history,) = [name for name in on_data_branch(project) if name.startswith("history/")]
    assert len(project.git("show", f"{DATA}:{history}").splitlines()) == 2
    assert "test_work" in summary.read_text()
    assert project.git("log", "--format=%s", "origin/main").splitlines() == ["change"]


def test_a_run_that_ended_without_a_report_keeps_nothing(project: Project):
    ended = run_step(project, KEEP, {"token": ""})
    assert ended.code == 0
    assert "report.json is not there: the run ended before it" in ended.text


def test_a_task_that_is_none_is_refused(project: Project):
    ended = run_step(project, "Measure", {"task": "comparee"})
    assert ended.code == 4
    assert "invalid choice: 'comparee'" in ended.text


def test_the_token_is_handed_to_no_step_that_runs_the_code_of_a_pull_request():
    for step in action()["runs"]["steps"]:
        words = json.dumps([step.get("env", {}), step.get("with", {})])
        assert ("inputs.token" in words) is (step["name"] not in WITHOUT_TOKEN)
