"""Files that grow by whole lines."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.errors import UsageError
from pytest_rlperf.store import locking
from pytest_rlperf.store.json_lines import append_lines, read_lines
from tests.factories import examples

LINES = ['{"a": 1}', '{"b": "ü"}']
NEXT = '{"next": 1}'
WRITER = """
import json, sys
from pathlib import Path
from pytest_rlperf.store.json_lines import append_lines

for number in range(20):
    line = json.dumps({"name": sys.argv[2], "number": number, "long": "x" * 10_000})
    append_lines(Path(sys.argv[1]), [line])
"""


def test_what_is_appended_is_read_in_order(tmp_path: Path):
    path = tmp_path / "lines"
    append_lines(path, LINES[:1])
    append_lines(path, LINES[1:])
    assert read_lines(path) == LINES


def test_no_file_has_no_lines(tmp_path: Path):
    assert read_lines(tmp_path / "lines") == []


@examples
@given(cut=st.integers(2, 12))
def test_a_writer_that_was_killed_spoils_neither_what_was_nor_what_comes(
    tmp_path_factory: pytest.TempPathFactory, cut: int
):
    path = tmp_path_factory.mktemp("torn") / "lines"
    append_lines(path, LINES)
    path.write_bytes(path.read_bytes()[:-cut])
    assert read_lines(path) == LINES[:1]
    append_lines(path, [NEXT])
    assert read_lines(path) == [LINES[0], NEXT]


def test_a_torn_line_is_put_aside_with_those_before_it(tmp_path: Path):
    path = tmp_path / "lines"
    for torn in ('{"ha', '{"l'):
        path.write_text(f"{LINES[0]}\n{torn}")
        assert append_lines(path, [NEXT]).aside == tmp_path / "lines.torn"
    assert (tmp_path / "lines.torn").read_text() == '{"ha\n{"l\n'
    assert append_lines(path, [NEXT]).aside is None


def test_a_line_that_lacks_only_its_end_is_whole(tmp_path: Path):
    path = tmp_path / "lines"
    path.write_text("\n".join(LINES), encoding="utf-8")
    assert read_lines(path) == LINES
    done = append_lines(path, [NEXT])
    assert read_lines(path) == [*LINES, NEXT]
    assert done.aside is None


def test_lines_may_be_written_once_only(tmp_path: Path):
    path = tmp_path / "lines"
    append_lines(path, LINES[:1])
    assert append_lines(path, LINES, once=True).added == 1
    assert read_lines(path) == LINES


def test_writers_at_once_lose_nothing_and_mix_nothing(tmp_path: Path):
    path = tmp_path / "lines"
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, name]) for name in "abc"]
    assert [writer.wait(timeout=300) for writer in writers] == [0] * 3
    lines = [json.loads(line) for line in read_lines(path)]
    for name in "abc":
        assert [line["number"] for line in lines if line["name"] == name] == [*range(20)]
    assert len(lines) == 3 * 20


def test_a_writer_that_does_not_let_go_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "lines"
    monkeypatch.setattr(locking, "LOCK_WAIT_S", 0.1)
    with path.open("ab") as held:
        assert locking.try_lock(held.fileno())
        with pytest.raises(UsageError, match=r"another process is writing .*lines; wait for it"):
            append_lines(path, LINES)
    assert path.read_bytes() == b""


def test_reading_changes_nothing(tmp_path: Path):
    """Another process may be in the middle of a line."""
    path = tmp_path / "lines"
    path.write_text("whole\nhal", encoding="utf-8")
    read_lines(path)
    assert path.read_text(encoding="utf-8") == "whole\nhal"
