"""`--rlperf-save`: what a save leaves on disk, and what leaves the disk as it was.

The runs follow each other in one project, as they would in real life.
"""

import signal
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_rlperf.machine.fingerprint import machine_facts, machine_key

from .projects import Ended, Project, Workshop
from .stored import baseline_file, coarse, library, new_project, save, stored

STUCK = """
@pytest.mark.rlperf(iterations=10)
def test_stuck(rlperf):
    rlperf(lib.stuck)
"""
STUCK_LIBRARY = """
def stuck():
    import os, pathlib, time
    tick(MS)
    if ordinal() >= 2:
        pathlib.Path(os.environ["INTEGRATION_FOLDER"], "stuck").touch()
        time.sleep(3600)
"""


@dataclass(frozen=True)
class Saved:
    """A run, and what was stored after it."""

    ended: Ended
    tests: dict[str, Any]

    @property
    def sessions(self) -> list[dict[str, Any]]:
        sessions: list[dict[str, Any]] = self.tests["test_work"]["sessions"]
        return sessions


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    return new_project(workshop, "save")


@pytest.fixture(scope="module")
def first(project: Project) -> Saved:
    return Saved(save(project, "--rlperf-strict"), stored(project))


@pytest.fixture(scope="module")
def next_commit(project: Project, first: Saved) -> Saved:
    """The baseline and a change of the library were committed."""
    project.commit({"lib.py": library(1.1)})
    return Saved(save(project), stored(project))


@pytest.fixture(scope="module")
def again(project: Project, next_commit: Saved) -> Saved:
    """On the same commit, whose baseline is in version control and has just been written."""
    return Saved(save(project), stored(project))


@pytest.fixture(scope="module")
def dirty(project: Project, again: Saved) -> Saved:
    project.write({"lib.py": library(1.2)})
    return Saved(save(project), stored(project))


def test_a_save_says_where_the_baseline_is(first: Saved, project: Project):
    folder = baseline_file(project).parents[1].relative_to(project.folder)
    assert f"rlperf: saved 2 tests in {folder}; commit it." in first.ended.text.splitlines()
    assert "rlperf: saving the stored baseline 'main', allowed +300 %" in first.ended.text


def test_the_first_save_passes_under_strict_too(first: Saved):
    assert first.ended.code == 0
    assert first.ended.result["mode"] == "save"
    assert set(first.ended.outcomes.values()) == {"no_baseline"}


def test_the_folder_is_named_after_the_machine(first: Saved, project: Project):
    key = baseline_file(project).parents[2].name
    assert key == machine_key(machine_facts(first.ended.result["fingerprint"]))


def test_a_session_holds_ratios_to_the_kernels_with_the_facts_they_rest_on(first: Saved):
    (session,) = first.sessions
    assert session["commit"] == first.ended.result["commit"]
    assert session["dirty"] is False
    assert session["call_ns"] == pytest.approx(1e6, rel=0.002)
    assert session["facts"]["threads"] == session["facts"]["kernels"] == 1
    assert {"interpreter", "compiled", "stride", "clock"} <= session["blocks"].keys()
    assert {len(column["typical"]) for column in session["blocks"].values()} == {3}


def test_a_baseline_names_the_kernels_that_a_test_is_measured_in(first: Saved):
    weights = first.tests["test_work"]["weights"]
    assert sum(weights.values()) == pytest.approx(1, abs=1e-5)
    assert "clock" not in weights
    assert first.tests["test_work"]["steps"] == 100


def test_on_another_commit_a_save_replaces_the_sessions(next_commit: Saved, first: Saved):
    (session,) = next_commit.sessions
    assert session["commit"] == next_commit.ended.result["commit"] != first.sessions[0]["commit"]
    assert set(coarse(next_commit.ended).values()) == {"passed"}


def test_on_the_same_clean_commit_a_save_adds_a_session(again: Saved, next_commit: Saved):
    assert len(again.sessions) == 2
    assert again.sessions[0] == next_commit.sessions[0]
    assert again.ended.result["dirty"] is False


def test_a_changed_tree_is_saved_as_such_and_in_place_of_the_others(dirty: Saved):
    (session,) = dirty.sessions
    assert session["dirty"] is True
    assert dirty.ended.code == 0


def test_a_run_in_which_a_test_failed_saves_nothing(dirty: Saved, project: Project):
    before = baseline_file(project).read_bytes()
    project.write({"lib.py": library(other="raise ValueError('no such action')")})
    ended = save(project, "tests/test_perf.py::test_other")
    assert ended.code == 1
    assert "rlperf: nothing was saved, since a test failed; a failed run is no baseline." in (
        ended.text.splitlines()
    )
    assert baseline_file(project).read_bytes() == before


def test_a_module_that_cannot_be_collected_makes_it_a_failed_run(dirty: Saved, project: Project):
    before = baseline_file(project).read_bytes()
    project.write({"lib.py": library(), "tests/test_broken.py": "import nowhere\n"})
    ended = save(project, "--continue-on-collection-errors", "--rlperf-budget=1")
    assert "rlperf: nothing was saved, since a test failed" in ended.text
    assert baseline_file(project).read_bytes() == before
    (project.folder / "tests/test_broken.py").unlink()


def test_an_interrupted_run_saves_nothing(workshop: Workshop):
    files = {"lib.py": library() + STUCK_LIBRARY}
    project = new_project(workshop, "save-interrupted", files)
    project.write({"tests/test_perf.py": "import lib\nimport pytest\n" + STUCK})
    run = project.start("--rlperf", "--rlperf-save")
    run.wait_for_file("stuck")
    run.popen.send_signal(signal.SIGINT)
    ended = run.wait(deadline_s=30)
    assert ended.code == 2
    assert "rlperf: nothing was saved, since the run was interrupted." in ended.text.splitlines()
    assert not (project.folder / "baselines").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--rlperf-save=a/b"], "--rlperf-save=a/b is no name for a baseline; use letters"),
        (
            ["--rlperf-save", "tests"],
            "--rlperf-save took 'tests' for its NAME; put it last, or write --rlperf-save=main.",
        ),
        (["--rlperf-save=a", "--rlperf-baseline=b"], "--rlperf-save=a is compared with the"),
        (
            ["--rlperf-save", "--rlperf-against=HEAD"],
            "--rlperf-against and --rlperf-save exclude each other; give one of them.",
        ),
        (
            ["--rlperf-save", "--rlperf-baselines=lib.py"],
            "the baselines cannot be written to ",
        ),
    ],
)
def test_what_cannot_be_saved_is_refused_at_once(
    project: Project, arguments: list[str], sentence: str
):
    ended = project.refuse("--rlperf", *arguments)
    assert ended.code == 4
    (error,) = [line for line in ended.text.splitlines() if line.startswith("ERROR: ")]
    assert error.startswith(f"ERROR: rlperf: {sentence}")
