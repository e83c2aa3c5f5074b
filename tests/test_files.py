"""A file is the old one or the new one, whole, whatever happens to its writer."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf import files
from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import append_lines, private_folder, read_lines, write_atomically
from tests.factories import examples

KILLED_200_TIMES = """
import os, random, signal, sys, time
from pathlib import Path
from pytest_rlperf.files import write_atomically

path, rng = Path(sys.argv[1]), random.Random(7)
old, new = "old" * 100_000, "new" * 100_000

def write_for_ever():
    while True:
        write_atomically(path, new)
        write_atomically(path, old)

write_atomically(path, old)
most = 0
for _ in range(200):
    child = os.fork()
    if child == 0:
        write_for_ever()
    time.sleep(rng.uniform(0, 0.008))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    text = path.read_text()
    assert text in (old, new), f"torn after {len(text)} characters"
    most = max(most, len(os.listdir(path.parent)) - 1)
print(most)
"""

KILLED_BEFORE_THE_RENAME = """
import os, signal, sys
from pathlib import Path
from pytest_rlperf.files import write_atomically

os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
write_atomically(Path(sys.argv[1]), "new")
"""


def run_writer(script: str, path: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", script, str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_writer_killed_at_any_moment_leaves_one_whole_file(tmp_path: Path):
    path = tmp_path / "result.json"
    done = run_writer(KILLED_200_TIMES, path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= 1, "what one killed writer leaves, the next one removes"
    write_atomically(path, "last")
    assert (path.read_text(), names(tmp_path)) == ("last", ["result.json"])


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path):
    path = tmp_path / "result[1].json"
    path.write_text("old")
    assert run_writer(KILLED_BEFORE_THE_RENAME, path).returncode == -9
    assert path.read_text() == "old"
    assert len(names(tmp_path)) == 2
    write_atomically(path, "newer")
    assert (path.read_text(), names(tmp_path)) == ("newer", ["result[1].json"])


def test_leftovers_of_other_targets_are_not_touched(tmp_path: Path):
    run_writer(KILLED_BEFORE_THE_RENAME, tmp_path / "other.json")
    left = names(tmp_path)
    write_atomically(tmp_path / "result.json", "text")
    assert names(tmp_path) == [*left, "result.json"]


def test_two_writers_at_once_do_not_take_each_others_file_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "result.json"
    sync = os.fsync

    def another_writes_meanwhile(handle: int) -> None:
        monkeypatch.setattr(os, "fsync", sync)
        write_atomically(path, "second")
        assert path.read_text() == "second"

    monkeypatch.setattr(os, "fsync", another_writes_meanwhile)
    write_atomically(path, "first")
    assert (path.read_text(), names(tmp_path)) == ("first", ["result.json"])


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path):
    path = tmp_path / "result.json"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "half of a pair: \ud800")
    assert (path.read_text(), names(tmp_path)) == ("old", ["result.json"])


def test_a_name_that_no_file_can_have_is_an_error_of_the_system(tmp_path: Path):
    with pytest.raises(OSError, match=r"\[Errno"):
        write_atomically(tmp_path / "half of a pair: \ud800", "text")


def test_a_file_is_written_as_utf_8_with_plain_line_ends(tmp_path: Path):
    write_atomically(tmp_path / "report.md", "µs\n")
    assert (tmp_path / "report.md").read_bytes() == "µs\n".encode()


def test_pictures_are_written_as_they_are(tmp_path: Path):
    write_atomically(tmp_path / "figure.png", b"\x89PNG\r\n")
    assert (tmp_path / "figure.png").read_bytes() == b"\x89PNG\r\n"


# -- files that grow by whole lines -------------------------------------------------------------


LINES = ['{"a": 1}', '{"b": "ü"}']
NEXT = '{"next": 1}'
WRITER = """
import json, sys
from pathlib import Path
from pytest_rlperf.files import append_lines

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
    monkeypatch.setattr(files, "LOCK_WAIT_S", 0.1)
    with path.open("ab") as held:
        assert files.try_lock(held.fileno())
        with pytest.raises(UsageError, match=r"another process is writing .*lines; wait for it"):
            append_lines(path, LINES)
    assert path.read_bytes() == b""


def test_reading_changes_nothing(tmp_path: Path):
    """Another process may be in the middle of a line."""
    path = tmp_path / "lines"
    path.write_text("whole\nhal", encoding="utf-8")
    read_lines(path)
    assert path.read_text(encoding="utf-8") == "whole\nhal"


def test_a_link_under_the_name_for_torn_lines_is_not_followed(tmp_path: Path):
    path, precious = tmp_path / "lines", tmp_path / "precious"
    precious.write_text("as it was")
    path.write_text(f'{LINES[0]}\n{{"torn')
    (tmp_path / "lines.torn").symlink_to(precious)
    with pytest.raises(OSError, match="symbolic links"):
        append_lines(path, [NEXT])
    assert precious.read_text() == "as it was"
    assert path.read_text() == f'{LINES[0]}\n{{"torn'


def test_a_link_that_looks_like_a_leftover_is_not_opened(tmp_path: Path):
    path, link = tmp_path / "result.json", tmp_path / f".result.json.x{files.ENDING}"
    (tmp_path / "elsewhere").touch()
    link.symlink_to(tmp_path / "elsewhere")
    write_atomically(path, "new")
    assert link.is_symlink()


def test_a_private_folder_is_made_whatever_the_system_says_of_those_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    make = os.mkdir

    def mkdir(path: Path, mode: int) -> None:
        if os.path.isdir(path):  # macOS says so of the root
            raise IsADirectoryError(errno.EISDIR, "Is a directory", str(path))
        make(path, mode)

    monkeypatch.setattr(os, "mkdir", mkdir)
    private_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
