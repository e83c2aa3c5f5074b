"""Verdicts of a proof on disk."""

import json
from pathlib import Path

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.store.json_lines import append_lines, read_lines
from pytest_rlperf.store.proof_file import append, proof_file, read
from tests.factories import a_trial

TRIALS = [a_trial(), a_trial("test_b.py::test_b", injected=0.1, outcome=Outcome.REGRESSED)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return proof_file(tmp_path / "cache", tmp_path / "project")


def test_verdicts_survive_the_file(path: Path):
    append(path, TRIALS[:1])
    append(path, TRIALS[1:])
    assert read(path) == TRIALS


def test_every_project_has_its_own_file(tmp_path: Path):
    files = {proof_file(tmp_path, tmp_path / name) for name in ("a", "b")}
    assert len(files) == 2


def test_a_torn_last_line_is_none(path: Path):
    append(path, TRIALS)
    path.write_bytes(path.read_bytes()[:-30])
    assert read(path) == TRIALS[:1]


def line_with(path: Path, **fields: object) -> str:
    append(path, TRIALS[:1])
    (line,) = read_lines(path)
    path.unlink()
    return json.dumps({**json.loads(line), **fields})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"schema": 99}, "has schema 99, and this version reads up to 1; update pytest-rlperf."),
        ({"outcome": "odd"}, "is damaged at line 1.outcome; delete it to begin anew."),
        ({"interval": {"low": 1}}, "is damaged at line 1.interval.change; delete it to begin"),
        ({"seconds": "long"}, "is damaged at line 1.seconds; delete it to begin anew."),
    ],
)
def test_what_is_no_verdict_is_refused_with_its_place(
    path: Path, fields: dict[str, object], said: str
):
    line = line_with(path, **fields)
    append_lines(path, [line])
    with pytest.raises(UsageError) as caught:
        read(path)
    assert said in str(caught.value)


@pytest.mark.parametrize("line", ["nonsense", "[]", "1"])
def test_a_line_that_is_none_of_ours_is_named(path: Path, line: str):
    append(path, TRIALS)
    append_lines(path, [line])
    with pytest.raises(UsageError, match="line 3"):
        read(path)


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path):
    (tmp_path / "cache").write_text("a file")
    path = proof_file(tmp_path / "cache", tmp_path)
    with pytest.raises(UsageError, match=r"cannot be written to .*; set RLPERF_CACHE to a folder"):
        append(path, TRIALS)
