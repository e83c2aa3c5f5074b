"""`--rlperf-shard`: parts of a suite that know nothing of each other come to what the whole does."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from .projects import Ended, Project, Workshop

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
