"""A few trials of each kind: nothing is lost, and nothing left."""

import os
import random
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_rlperf.baselines.file import Stored
from pytest_rlperf.baselines.folder import save_into
from pytest_rlperf.trees import data_branch
from tests.evidence.ends import kills
from tests.evidence.ends.kills import LONGEST_S, Kills
from tests.evidence.ends.trial import left_in

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for trials, which set these for their whole process."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", tempfile.tempdir)
    monkeypatch.setattr(data_branch, "ATTEMPTS", data_branch.ATTEMPTS)
    return tmp_path


def test_what_is_killed_loses_nothing_and_the_next_leaves_nothing(place: Path):
    trying = Kills(place, random.Random(0), [])
    trials = [trying.trial() for _ in range(3 * len(LONGEST_S))]
    assert [trial for trial in trials if trial.trouble] == []
    assert {trial.kind for trial in trials} == set(LONGEST_S)


def test_a_save_that_is_lost_is_seen(place: Path, monkeypatch: pytest.MonkeyPatch):
    def forget_others(folder: Path, tests: Sequence[Stored]) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        save_into(folder, tests)

    monkeypatch.setattr(kills, "save_into", forget_others)
    trying = Kills(place, random.Random(0), ["save"])
    assert "lost" in "".join(trying.trial().trouble for _ in range(2))


def test_what_is_left_is_seen(tmp_path: Path):
    (tmp_path / "rlperf-run-x.held").mkdir()
    (tmp_path / "other").mkdir()
    assert left_in(tmp_path) == ["rlperf-run-x.held"]
