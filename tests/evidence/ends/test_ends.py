"""A few trials of each kind: nothing is lost, and nothing left."""

import os
import random
import tempfile
from pathlib import Path

import pytest

from pytest_rlperf.trees import data_branch
from tests.evidence.ends.kills import LONGEST_S, Kills
from tests.evidence.ends.trial import left_in

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals")


def test_what_is_killed_loses_nothing_and_the_next_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", tempfile.tempdir)
    monkeypatch.setattr(data_branch, "ATTEMPTS", data_branch.ATTEMPTS)
    kills = Kills(tmp_path, random.Random(0), [])
    trials = [kills.trial() for _ in range(3 * len(LONGEST_S))]
    assert [trial for trial in trials if trial.trouble] == []
    assert {trial.kind for trial in trials} == set(LONGEST_S)


def test_what_is_left_is_seen(tmp_path: Path):
    (tmp_path / "rlperf-run-x.held").mkdir()
    (tmp_path / "other").mkdir()
    assert left_in(tmp_path) == ["rlperf-run-x.held"]
