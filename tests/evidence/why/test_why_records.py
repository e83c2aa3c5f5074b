"""The proof of the profiler: what counts as right, and what is kept of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from .records import SAME, Record, append, read
from .run import is_right
from .slowdowns import Slowdown
from .table import render

COPY = Slowdown("copied", "a.py", "Replay.add", "test_a.py::test_add", callees=("copy",))
UNCHANGED = Slowdown(SAME, "", "", "test_a.py::test_add")
RECORD = Record(
    name="copied",
    benchmark="test_a.py::test_add",
    outcome="regressed",
    change=0.5,
    low=0.4,
    high=0.6,
    profiled_change=0.45,
    pairs=8,
    blamed=("a.py:Replay.add",),
    note=None,
    right=True,
    seconds=30.0,
    date="2030-01-02",
    commit="a" * 40,
    python="3.11.7",
)


@pytest.mark.parametrize(
    ("slowdown", "blamed", "right"),
    [
        (COPY, ("a.py:Replay.add", "b.py:other"), True),
        (COPY, ("lib/copy.py:copy",), True),
        (COPY, ("b.py:other", "a.py:Replay.add"), False),
        (COPY, (), False),
        (UNCHANGED, (), True),
        (UNCHANGED, ("a.py:Replay.add",), False),
    ],
)
def test_right_is_who_names_the_cause_first(
    slowdown: Slowdown, blamed: tuple[str, ...], right: bool
):
    assert is_right(slowdown, blamed) is right


def test_records_are_read_as_they_were_written(tmp_path: Path):
    path = tmp_path / "why.jsonl"
    append(path, RECORD)
    append(path, replace(RECORD, name=SAME, blamed=()))
    assert read(path) == [RECORD, replace(RECORD, name=SAME, blamed=())]


def test_the_table_counts_what_was_right():
    wrong = replace(RECORD, name="lost", blamed=(), right=False, note="nobody took longer")
    text = render(
        [replace(RECORD, name="lost_cache"), wrong, replace(RECORD, name=SAME, blamed=())]
    )
    assert "| lost_cache | +14.5 % | +45.0 % | `a.py:Replay.add` | right |" in text
    assert "| nobody: nobody took longer | **wrong** |" in text
    assert "The cause was named first in 1 of 2 slowdowns." in text
    assert "Of 1 profiles of unchanged code 1 blamed nobody." in text
