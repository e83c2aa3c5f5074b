"""`--rlperf-shard`: parts that know nothing of each other come to what the whole suite does."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.action import action, script
from tests.commands.comment.stand_in import REPOSITORY, TOKEN, WORKFLOW_RUN, GitHubStandIn
from tests.servers import serving

from .projects import NO_CACHE, OWN_PLUGIN, Ended, Project, Workshop

COUNT = 4
LIBRARY = """
from fakeclock import tick

MS = 1_000_000

def fast():
    tick(1 * MS)

def slow():
    tick({slow} * MS)

def quick():
    tick({quick} * MS)

def broken():
    tick(1 * MS)
    return {returned}

def grow(size):
    tick(size * {grow} * 1000)
"""
TESTS = """
import lib
import pytest

@pytest.mark.parametrize("case", range(4))
def test_same(rlperf, case):
    rlperf(lib.fast)

def test_slower(rlperf):
    rlperf(lib.slow)

def test_faster(rlperf):
    rlperf(lib.quick)

def test_broken(rlperf):
    assert rlperf(lib.broken) == 1

def test_skipped(rlperf):
    pytest.skip("not today")

@pytest.mark.rlperf(sizes=[100, 400, 1600])
def test_sizes(rlperf, rlperf_size):
    rlperf(lib.grow, rlperf_size)
"""


def library(slow: float = 1, quick: float = 1.5, returned: int = 1, grow: float = 1) -> str:
    return LIBRARY.format(slow=slow, quick=quick, returned=returned, grow=grow)


def outcomes(result: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """Return every metric's verdict, by test."""
    return {
        test["nodeid"]: [(test["outcome"], m["name"] + " " + m["outcome"]) for m in test["metrics"]]
        for test in result["tests"]
    }


def merge(project: Project, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "pytest_rlperf.cli", "merge", *words],
        cwd=project.folder,
        env=os.environ | {"RLPERF_CACHE": str(project.cache)},
        capture_output=True,
        text=True,
    )


def measured_shards(project: Project, count: int) -> list[Ended]:
    """Measure every shard, each into a file of its own beside the project."""
    return [
        project.run(
            *("--rlperf", "--rlperf-against=base", f"--rlperf-shard={k}/{count}"),
            f"--rlperf-json={shard(project, k)}",
            json_result=False,
        )
        for k in range(1, count + 1)
    ]


def shard(project: Project, k: int) -> Path:
    return project.folder.parent / f"shard{k}.json"


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text())
    return content


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    head = library(slow=1.15, quick=1, returned=2, grow=1.4)
    files = {"lib.py": library(), "tests/test_perf.py": TESTS}
    return workshop.project("shards", files, {"lib.py": head})


@pytest.fixture(scope="module")
def shards(project: Project) -> list[Ended]:
    return measured_shards(project, COUNT)


def test_the_union_of_the_shards_has_the_outcomes_of_the_whole(
    project: Project, shards: list[Ended]
):
    whole = project.measure()
    merged = project.folder.parent / "merged.json"
    files = [str(shard(project, k)) for k in (3, 1, 4, 2)]
    done = merge(project, *files, "--output", str(merged), "--report", "report")
    result = read(merged)
    assert outcomes(result) == outcomes(whole.result)
    assert list(outcomes(result)) == list(outcomes(whole.result))
    assert result["summary"] == whole.result["summary"]
    assert result["exit_code"] == done.returncode == whole.code == 1, done.stderr
    assert {ended.code for ended in shards} == {0, 1}

    assert [part["name"] for part in result["parts"]] == [f"shard {k}" for k in (1, 2, 3, 4)]
    report = (project.folder / "report" / "report.md").read_text()
    (row,) = [
        line
        for line in report.splitlines()
        if line.startswith("| **REGRESSED** ") and "test_slower" in line
    ]
    named = {t["nodeid"]: t["part"] for t in result["tests"]}
    assert f"| {named['tests/test_perf.py::test_slower']} | " in row


def test_each_shard_reckons_with_the_verdicts_of_the_whole_suite(
    project: Project, shards: list[Ended]
):
    told = [read(shard(project, k))["shard"] for k in range(1, COUNT + 1)]
    # Eleven tests are timed, and the three sizes have an exponent.
    assert {each["verdicts"] for each in told} == {12}
    assert all(each["suite"] == told[0]["suite"] for each in told)
    assert len(told[0]["suite"]) == 11
    assert "rlperf: shard 1 of 4 of 11 tests: " in shards[0].text


def test_the_sizes_of_a_test_are_in_one_shard(project: Project, shards: list[Ended]):
    where = [
        k
        for k in range(1, COUNT + 1)
        for test in read(shard(project, k))["tests"]
        if "test_sizes" in test["nodeid"]
    ]
    assert len(where) == 3
    assert len(set(where)) == 1


def test_the_command_that_repeats_a_test_names_no_shard(project: Project, shards: list[Ended]):
    commands = {test["repeat_command"] for test in read(shard(project, 1))["tests"]}
    assert commands
    assert not [command for command in commands if "shard=" in command]


def test_a_shard_that_no_test_falls_to_leaves_a_result_and_fails_nothing(project: Project):
    ended = project.measure("--rlperf-shard=11/11")
    assert (ended.code, ended.result["tests"]) == (0, [])
    assert ended.result["shard"]["index"] == 11
    assert "rlperf: shard 11 of 11 of 11 tests: no tests in 0 s" in ended.text


def test_a_change_that_reaches_nothing_leaves_shards_that_come_to_nothing(workshop: Workshop):
    files = {"lib.py": library(), "tests/test_perf.py": TESTS}
    project = workshop.project("shards-untouched", files, {"README.md": "Hello.\n"})
    for k in (1, 2):
        ended = project.measure("--rlperf-reached", f"--rlperf-shard={k}/2")
        assert ended.code == 0
        shutil.copy(project.result, shard(project, k))
    done = merge(project, *(str(shard(project, k)) for k in (1, 2)))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_shard_without_a_file_says_that_it_leaves_nothing(project: Project):
    ended = project.run(
        "--rlperf", "--rlperf-against=base", "--rlperf-shard=11/11", json_result=False
    )
    assert "this shard leaves nothing to rlperf merge; add --rlperf-json=FILE." in ended.text


# -- who runs what ------------------------------------------------------------------------------


def shared_out(project: Project, *args: str) -> list[list[str]]:
    """Return the tests of two shards by their names, without measuring them."""
    wholes = []
    for k in (1, 2):
        ended = project.measure(
            f"--rlperf-shard={k}/2", "--rlperf-budget=0.01", "--rlperf-profile=off", *args
        )
        wholes.append(sorted(test["nodeid"].partition("::")[2] for test in ended.result["tests"]))
    return wholes


FOUR = "import lib\n\n" + "\n".join(
    f"def test_{name}(rlperf):\n    rlperf(lib.fast)\n" for name in "abcd"
)


def seconds_of(path: Path, seconds: Mapping[str, float]) -> None:
    """Change the seconds that the tests of a result took."""
    content = read(path)
    for test in content["tests"]:
        test["cost"] = {"slices": seconds[test["nodeid"].rpartition("_")[2]]}
    path.write_text(json.dumps(content))


def test_seconds_of_an_earlier_result_balance_the_shards(workshop: Workshop):
    project = workshop.project("shards-by", {"lib.py": library(), "tests/test_perf.py": FOUR})
    earlier = project.folder / "earlier.json"
    assert project.measure(f"--rlperf-json={earlier}", json_result=False).code == 0
    seconds_of(earlier, {"a": 1, "b": 1, "c": 1, "d": 4})
    halves = shared_out(project, f"--rlperf-shard-by={earlier}")
    assert sorted(halves, key=len) == [["test_d"], ["test_a", "test_b", "test_c"]]
    project.write({"pytest.ini": "[pytest]\nrlperf_shard_by = earlier.json\n"})
    assert shared_out(project) == halves


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rlperf-shard=5/4"], "--rlperf-shard=5/4 names no part of a suite; write --rlperf-sh"),
        (["--rlperf-shard=0/4"], "--rlperf-shard=0/4 names no part of a suite;"),
        (["--rlperf-shard=half"], "--rlperf-shard=half names no part of a suite;"),
        (["--rlperf-shard=1/2", "--rlperf-prove"], "--rlperf-shard and --rlperf-prove exclude"),
        (["--rlperf-shard-by=a.json"], "--rlperf-shard-by does nothing alone; add --rlperf-shard"),
        (["--rlperf-shard=1/2", "--rlperf-shard-by=a.json"], "a.json does not exist; write it"),
    ],
)
def test_what_cannot_be_obeyed_is_refused(project: Project, words: list[str], said: str):
    ended = project.refuse("--rlperf", *words)
    assert ended.code == 4
    assert said in ended.text


# -- a run of some tests ------------------------------------------------------------------------


def test_a_run_of_some_tests_is_laid_over_the_full_result(workshop: Workshop):
    files = {"lib.py": library(), "tests/test_perf.py": TESTS}
    project = workshop.project("shards-onto", files, {"lib.py": library(slow=1.15)})
    full, part = (project.folder.parent / name for name in ("full.json", "part.json"))
    words = ("-k", "same or slower")
    assert project.measure(*words, f"--rlperf-json={full}", json_result=False).code == 1
    project.write({"lib.py": library(slow=1.01)})  # mended
    mended = project.measure("-k", "slower", f"--rlperf-json={part}", json_result=False)
    assert mended.code == 0
    done = merge(project, "--onto", str(full), str(part), "--output", str(full))
    assert done.returncode == 0, done.stderr
    result = read(full)
    told = {test["nodeid"].partition("::")[2]: test["part"] for test in result["tests"]}
    assert len(told) == 5
    earlier, later = (each["name"] for each in result["parts"])
    assert {name for name, run in told.items() if run == later} == {"test_slower"}
    assert "regressed" not in result["summary"]
    assert f"from {earlier}: 4 tests in " in done.stdout


# -- on GitHub ----------------------------------------------------------------------------------


def run_step(project: Project, step_name: str, env: Mapping[str, str], **inputs: str) -> Ended:
    step = script(step_name, python=sys.executable, **inputs)
    return project.start_command(step.command, env={**step.env, **env}).wait()


def test_jobs_of_a_matrix_and_one_that_merges_leave_one_comment(workshop: Workshop):
    project = workshop.project("shards-jobs", {"lib.py": library(), "tests/test_perf.py": FOUR})
    project.add_remote()
    project.commit({"lib.py": library().replace("tick(1 * MS)", "tick(1.5 * MS)", 1)})
    runner = project.folder.parent / "runner"
    runner.mkdir()
    event, summary = runner / "event.json", runner / "summary.md"
    event.write_text(json.dumps({"pull_request": {"number": 12}}))
    job = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_BASE_REF": "main",
        "GITHUB_EVENT_PATH": str(event),
        "RUNNER_TEMP": str(runner),
    }
    arguments = " ".join([*OWN_PLUGIN, *NO_CACHE])
    report = project.folder / "rlperf-report"
    for k in ("1", "2", "3"):  # each in a job of its own, whose report is uploaded
        ended = run_step(project, "Measure", job, arguments=arguments, shard=k, shards="3")
        assert f"shard {k} of 3, against merge base with origin/main" in ended.text
        assert ended.code == 1, ended.text
        shutil.move(report, runner / "rlperf-shards" / f"rlperf-shard-{k}")

    lost = (runner / "rlperf-shards/rlperf-shard-2").rename(runner / "lost")
    refused = run_step(project, "Merge the shards", job)
    assert refused.code == 4
    assert "rlperf: shard 2 of 3 is missing: " in refused.text
    assert not report.exists()
    lost.rename(runner / "rlperf-shards/rlperf-shard-2")

    merged = run_step(project, "Merge the shards", {**job, "GITHUB_STEP_SUMMARY": str(summary)})
    assert merged.code == 1, merged.text
    assert "4 regressed" in summary.read_text()
    assert (report / "pull-request").read_text() == "12\n"
    assert read(report / "report.json")["summary"] == {"regressed": 4}

    event.write_text(json.dumps(WORKFLOW_RUN))
    shutil.move(report, runner / "rlperf-comment")
    github = GitHubStandIn()
    with serving(github) as server:
        comments = {"GITHUB_API_URL": server.url, "GITHUB_REPOSITORY": REPOSITORY}
        said = run_step(project, "Comment", {**job, **comments}, token=TOKEN, name="")
    assert said.code == 0, said.text
    (body,) = github.bodies
    assert "## Performance: 4 regressed" in body
    assert all(f"| shard {k} | " in body for k in (1, 2, 3))


def test_what_a_job_of_the_matrix_uploads_is_what_the_merging_one_downloads():
    steps = {step["name"]: step for step in action()["runs"]["steps"]}
    named = steps["Upload the report"]["with"]["name"]
    assert "format('{0}-shard-{1}', inputs.artifact, inputs.shard)" in named
    fetched = steps["Download the reports of all shards"]["with"]
    assert fetched["pattern"] == "${{ inputs.artifact }}-shard-*"
    assert "merge-multiple" not in fetched  # a folder each
    assert steps["Download the report"]["with"]["pattern"] == "${{ inputs.artifact }}"
