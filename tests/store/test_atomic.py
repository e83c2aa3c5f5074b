"""A file is the old one or the new one, whole, whatever happens to its writer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_rlperf.store.atomic import write_atomically

KILLED_200_TIMES = """
import os, random, signal, sys, time
from pathlib import Path
from pytest_rlperf.store.atomic import write_atomically

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
from pytest_rlperf.store.atomic import write_atomically

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


def test_a_file_is_written_as_utf_8_with_plain_line_ends(tmp_path: Path):
    write_atomically(tmp_path / "report.md", "µs\n")
    assert (tmp_path / "report.md").read_bytes() == "µs\n".encode()


def test_pictures_are_written_as_they_are(tmp_path: Path):
    write_atomically(tmp_path / "figure.png", b"\x89PNG\r\n")
    assert (tmp_path / "figure.png").read_bytes() == b"\x89PNG\r\n"
