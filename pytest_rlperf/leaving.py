"""What a run leaves behind when it ends, however it ends: its results, and nothing else.

SIGTERM ends it as Ctrl+C does, and neither in the middle of keeping what was measured. A temporary
folder is locked by the process that made it, and the kernel drops the lock with the process: so a
later run can tell what a killed one left from what another is using, and removes it. The memory
that ranks of MPI share loses its name as soon as nobody needs it any more.
"""

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from pytest_rlperf.files import LOCKS, try_lock

if TYPE_CHECKING:
    from subprocess import CompletedProcess

# -- signals -------------------------------------------------------------------------------------


class Interrupts:
    """Raises KeyboardInterrupt at the first SIGINT or SIGTERM, as long as this context lasts.

    Services that cancel a job send one after the other: a SIGTERM never interrupts what the signal
    before it began to clear away, while whoever presses Ctrl+C again means it.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._came = self._keeping = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
            for number, handler in usual.items():
                if signal.getsignal(number) == handler:  # else it is ignored, or somebody's own
                    self._before[number] = signal.signal(number, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        while self._before:
            signal.signal(*self._before.popitem())

    def keep(self) -> None:
        """Let nothing but a second Ctrl+C interrupt what follows: results are being kept."""
        self._keeping = True

    def _interrupt(self, number: int, _: FrameType | None) -> None:
        again, self._came = self._came, True
        if number == signal.SIGINT if again else not self._keeping:
            raise KeyboardInterrupt


def run_to_its_end(command: Sequence[str], **how: Any) -> "CompletedProcess[str]":
    """Run a command as `subprocess.run` does; interrupted, let it keep what it has first."""
    import subprocess  # here: processes that tests start come by this module, too

    with subprocess.Popen(command, text=True, **how) as process:
        try:
            said, _ = process.communicate()
        except BaseException:
            process.terminate()  # Ctrl+C in a terminal reached it already, and this does nothing
            process.communicate()
            raise
    return subprocess.CompletedProcess(command, process.returncode, said)


# -- temporary folders ---------------------------------------------------------------------------

PREFIX, HELD = "rlperf-", ".held"
"""How the names of folders begin and end whose makers hold a lock on them."""


@contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """Make a folder that goes with this context; that of a process that is killed goes with the
    next one of anybody.
    """
    folder, lock = hold_folder(purpose)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        let_go(lock)
        remove_abandoned_folders()  # those of workers that had to be killed


def hold_folder(purpose: str) -> tuple[Path, int | None]:
    """Make a folder, and return it with the descriptor that keeps others from removing it."""
    remove_abandoned_folders()
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{purpose}-", suffix=HELD))
        if not LOCKS:  # pragma: no cover - Windows
            return folder, None
        with suppress(FileNotFoundError):  # another process took it for abandoned
            handle = os.open(folder, os.O_RDONLY)
            try:
                held = try_lock(handle)
            except OSError:  # no locks on this file system: nobody takes it for abandoned either
                held = True
            if held and folder.exists():
                return folder, handle
            os.close(handle)


def let_go(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


def remove_abandoned_folders() -> None:
    """Remove the folders whose makers are gone; one that cannot be removed keeps nobody waiting."""
    if not LOCKS:  # pragma: no cover - Windows
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*{HELD}"):
        with suppress(OSError):  # removed meanwhile, or somebody else's
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(handle).st_uid == os.getuid() and try_lock(handle):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


# -- memory that ranks of MPI share --------------------------------------------------------------

SHARED_MEMORY = Path("/dev/shm")
OF_MPICH, OF_OPEN_MPI = "mpich_shm_", "sm_segment."
"""How the names begin. The ranks of Open MPI need theirs to the end: one rank may look for the
memory of another when it first has something to tell it."""


def shared_by_ranks(
    pids: Iterable[int], names: tuple[str, ...] = (OF_MPICH, OF_OPEN_MPI)
) -> set[Path]:
    """Return the files that these ranks share, and nobody else has."""
    return {path for pid in pids for path in _mapped(pid) if path.name.startswith(names)}


def unname(paths: Iterable[Path]) -> None:
    """Take the names away: the memory itself lasts as long as a process has it."""
    for path in paths:
        with suppress(OSError):  # another rank was faster
            path.unlink()


def left_by_ranks() -> list[Path]:
    """Return the files of ranks that are ours and no process has, as far as can be seen."""
    held = {path for pid in _processes() for path in (*_mapped(pid), *_opened(pid))}
    files = sorted(f for name in (OF_MPICH, OF_OPEN_MPI) for f in SHARED_MEMORY.glob(f"{name}*"))
    return [file for file in files if file not in held and _is_ours(file)]


def _processes() -> Iterator[int]:
    with suppress(OSError):
        yield from (int(name) for name in os.listdir("/proc") if name.isdecimal())


def _mapped(pid: int) -> Iterator[Path]:
    with suppress(OSError), open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            _, slash, name = line.rstrip("\n").partition(f" {SHARED_MEMORY}/")
            if slash and not name.endswith(" (deleted)"):
                yield SHARED_MEMORY / name


def _opened(pid: int) -> Iterator[Path]:
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                yield Path(os.readlink(f"/proc/{pid}/fd/{name}"))


def _is_ours(file: Path) -> bool:
    with suppress(OSError):
        return file.stat().st_uid == os.getuid()
    return False
