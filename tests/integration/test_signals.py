"""Ctrl+C and SIGTERM keep what was measured; however a run ends, nothing of it is left."""

import os
import signal

import psutil
import pytest

from .projects import Ended, Project, Running, Workshop

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

LIBRARY = """
import os
import pathlib
import time

from fakeclock import ordinal, tick

def quick():
    tick(1_000_000)

def stuck():
    tick(20_000_000)  # long enough for a concurrent duet, which has a metronome
    if ordinal() >= 2:
        pathlib.Path(os.environ["INTEGRATION_FOLDER"], "stuck").touch()
        time.sleep(3600)
"""
TESTS = """
import lib

def test_quick(rlperf):
    rlperf(lib.quick)

def test_stuck(rlperf):
    rlperf(lib.stuck)

def test_memory(rlperf_memory):
    rlperf_memory(list)
"""


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    return workshop.project("signals", {"lib.py": LIBRARY, "tests/test_perf.py": TESTS})


def started(project: Project) -> Running:
    """A run whose second block hangs: both of its workers are in a call that never returns."""
    result = f"--rlperf-json={project.result}"
    run = project.start("--rlperf", "--rlperf-against=base", result)
    run.wait_for_file("stuck")
    return run


@pytest.fixture(scope="module", params=[signal.SIGINT, signal.SIGTERM])
def interrupted(
    project: Project, request: pytest.FixtureRequest
) -> tuple[Ended, list[psutil.Process]]:
    run = started(project)
    run.popen.send_signal(request.param)
    run.popen.send_signal(signal.SIGTERM)  # as services do that cancel a job: it changes nothing
    ended = run.wait(deadline_s=30)
    return ended, run.processes()


def test_an_interrupted_run_has_pytests_exit_code(
    interrupted: tuple[Ended, list[psutil.Process]],
):
    ended, _ = interrupted
    assert ended.code == 2
    assert "KeyboardInterrupt" in ended.text


def test_what_was_measured_is_reported_and_written(
    interrupted: tuple[Ended, list[psutil.Process]],
):
    ended, _ = interrupted
    assert ended.result["interrupted"] is True
    assert ended.result["exit_code"] == 2
    assert len(ended.result["tests"]) == 3
    assert ended.metric("test_quick")["blocks"] >= 1
    assert "rlperf: interrupted; the verdicts above rest on what was measured" in ended.text


def test_what_was_left_open_says_interrupted(interrupted: tuple[Ended, list[psutil.Process]]):
    ended, _ = interrupted
    metric = ended.metric("test_stuck")
    assert metric["outcome"] == "inconclusive"
    assert metric["reason"].startswith("the run was interrupted after ")
    assert metric["reason"].endswith("; run it again")
    assert "budget ran out" not in ended.text


def test_memory_which_comes_before_time_is_kept(
    interrupted: tuple[Ended, list[psutil.Process]],
):
    ended, _ = interrupted
    assert ended.outcomes["test_memory"] == "unchanged"


def test_an_interrupted_run_leaves_no_process_and_no_folder(
    project: Project, interrupted: tuple[Ended, list[psutil.Process]]
):
    _, left = interrupted
    assert left == []
    assert list(project.cache.parent.glob("rlperf-*")) == []


def test_workers_and_metronome_end_with_a_controller_that_is_killed(project: Project):
    run = started(project)
    commands = run.commands()
    run.popen.kill()
    run.popen.wait()
    assert sum("boot.py" in command for command in commands) >= 2
    assert sum("metronome" in command for command in commands) == 1
    assert run.wait_until_gone(10.0) == []
