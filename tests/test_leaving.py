"""What a run leaves behind: its results, and nothing else."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_rlperf import leaving
from pytest_rlperf.leaving import Interrupts, run_to_its_end, temporary_folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and locks")

HOLDS = """
from pytest_rlperf.leaving import temporary_folder
with temporary_folder("test") as folder:
    (folder / "file").write_text("half")
    print(folder, flush=True)
    input()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made, here and in processes that are started."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@contextmanager
def holder() -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """A process that has a folder."""
    command = [sys.executable, "-c", HOLDS]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().rstrip())
        process.kill()


def test_a_folder_goes_with_its_context(temporary: Path):
    with temporary_folder("test") as folder:
        (folder / "file").touch()
    assert list(temporary.iterdir()) == []


def test_the_next_folder_takes_those_of_killed_processes_away_and_no_other(temporary: Path):
    others = [temporary / "rlperf-of-an-older-version", temporary / "mine.held"]
    for other in others:
        other.mkdir()
    with holder() as (process, folder), holder() as (_, living):
        process.kill()
        process.wait()
        assert (folder / "file").exists()
        with temporary_folder("test"):
            assert not folder.exists()
            assert (living / "file").exists()
    assert all(other.is_dir() for other in others)


def test_a_link_that_looks_like_a_folder_is_left_alone(temporary: Path):
    with tempfile.TemporaryDirectory() as elsewhere:
        (temporary / "rlperf-test-x.held").symlink_to(elsewhere)
        with temporary_folder("test"):
            assert Path(elsewhere).is_dir()


def test_the_first_signal_interrupts_and_a_sigterm_after_it_does_not():
    with Interrupts():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_what_is_being_kept_is_interrupted_by_a_second_ctrl_c_alone():
    with Interrupts() as interrupts:
        interrupts.keep()
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_handlers_that_are_somebody_elses_stay_and_ours_go():
    def own(*_: object) -> None: ...

    before = signal.signal(signal.SIGTERM, own)
    try:
        with Interrupts():
            assert signal.getsignal(signal.SIGTERM) is own
            assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


KEEPS = """
import os, signal, sys
from pathlib import Path
from pytest_rlperf.leaving import Interrupts
with Interrupts():
    try:
        os.kill(os.getppid(), signal.SIGTERM)
        signal.pause()
    except KeyboardInterrupt:
        Path(sys.argv[1]).write_text("kept")
"""


def test_a_command_that_is_run_keeps_what_it_has_when_its_caller_is_told_to_end(tmp_path: Path):
    with Interrupts(), pytest.raises(KeyboardInterrupt):
        run_to_its_end([sys.executable, "-c", KEEPS, str(tmp_path / "file")])
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.skipif(not leaving.SHARED_MEMORY.is_dir(), reason="needs /dev/shm")
@pytest.mark.parametrize("library", [leaving.OF_MPICH, leaving.OF_OPEN_MPI])
def test_shared_memory_is_left_when_no_process_has_it(library: str):
    name = leaving.SHARED_MEMORY / f"{library}test_{os.getpid()}"
    try:
        with name.open("xb"):
            assert name not in leaving.left_by_ranks()
        assert name in leaving.left_by_ranks()
        assert name not in leaving.shared_by_ranks([os.getpid()])
    finally:
        name.unlink()
