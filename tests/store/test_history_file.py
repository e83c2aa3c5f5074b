"""The history in a file: appended once, and mended after a writer that was killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.store.history_file import HistoryFile
from pytest_rlperf.store.history_line import line_of
from tests.factories import a_past

FIRST, SECOND = a_past("a" * 40), a_past("b" * 40)
WRITER = """
import sys
from pathlib import Path
from pytest_rlperf.store.history_file import HistoryFile
from tests.factories import a_past

file = HistoryFile(Path(sys.argv[1]))
for number in range(20):
    file.append([a_past(f"{sys.argv[2]}{number:039}", f"test_a.py::test_{i}") for i in range(5)])
"""


@pytest.fixture
def history(tmp_path: Path) -> HistoryFile:
    return HistoryFile(tmp_path / "history.jsonl")


def test_what_is_appended_is_read_in_order(history: HistoryFile):
    history.append([FIRST])
    kept = history.append([SECOND])
    assert (kept.added, kept.where, kept.torn) == (1, str(history.path), None)
    assert history.read().tests == (FIRST, SECOND)


def test_a_result_that_is_there_already_is_not_written_again(history: HistoryFile):
    history.append([FIRST])
    assert history.append([FIRST, SECOND]).added == 1
    assert history.read().tests == (FIRST, SECOND)


def test_a_torn_line_is_put_aside_and_what_it_held_can_be_appended_again(history: HistoryFile):
    history.append([FIRST, SECOND])
    torn = history.path.read_bytes()[:-40]
    history.path.write_bytes(torn)
    assert "cut off" in history.read().troubles[0]
    kept = history.append([FIRST, SECOND])
    assert kept.added == 1
    assert kept.torn == f"{history.path}.torn"
    assert Path(kept.torn).read_text() == torn.decode().split("\n")[1] + "\n"
    assert (history.read().tests, history.read().troubles) == ((FIRST, SECOND), ())


def test_a_line_that_nobody_can_read_stays_where_it_is(history: HistoryFile):
    history.path.write_text("what is this?\n")
    history.append([FIRST])
    assert history.path.read_text() == f"what is this?\n{line_of(FIRST)}\n"
    assert history.read().tests == (FIRST,)


def test_two_processes_that_append_at_once_lose_nothing(history: HistoryFile):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(history.path), name]) for name in "ab"
    ]
    assert [writer.wait(timeout=300) for writer in writers] == [0, 0]
    past = history.read()
    assert past.troubles == ()
    assert len({(test.commit, test.nodeid) for test in past.tests}) == 2 * 20 * 5


def test_a_folder_that_is_not_there_is_named(tmp_path: Path):
    nowhere = HistoryFile(tmp_path / "nowhere" / "history.jsonl")
    with pytest.raises(UsageError, match=r"cannot be written to .*\(No such file or directory\)"):
        nowhere.append([FIRST])
    with pytest.raises(UsageError, match=r"cannot be read \(No such file or directory\); write"):
        nowhere.read()
