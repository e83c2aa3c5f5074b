"""Files that grow by whole lines."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.store.json_lines import append_lines, read_lines
from tests.factories import examples

LINES = ['{"a": 1}', '{"b": "ü"}']


def test_what_is_appended_is_read_in_order(tmp_path: Path):
    path = tmp_path / "lines"
    append_lines(path, LINES[:1])
    append_lines(path, LINES[1:])
    assert read_lines(path) == LINES


def test_no_file_has_no_lines(tmp_path: Path):
    assert read_lines(tmp_path / "lines") == []


@examples
@given(cut=st.integers(1, 12))
def test_a_writer_that_was_killed_spoils_neither_what_was_nor_what_comes(
    tmp_path_factory: pytest.TempPathFactory, cut: int
):
    path = tmp_path_factory.mktemp("torn") / "lines"
    append_lines(path, LINES)
    path.write_bytes(path.read_bytes()[:-cut])
    assert read_lines(path) == LINES[:1]
    append_lines(path, ["next"])
    assert read_lines(path) == [LINES[0], "next"]


def test_reading_changes_nothing(tmp_path: Path):
    """Another process may be in the middle of a line."""
    path = tmp_path / "lines"
    path.write_text("whole\nhal", encoding="utf-8")
    read_lines(path)
    assert path.read_text(encoding="utf-8") == "whole\nhal"
