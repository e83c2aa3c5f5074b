"""Processes of a training, and memory that they share."""

from __future__ import annotations

import ctypes
import mmap
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Final

from rl_impls.errors import MissingDependency, WorkerDied

# Memory that processes share and that has no name: nothing is left of it when the last one ends.
#
# A named segment outlives a killed process. This one is a file that never had a name, handed on by
# its descriptor, so the kernel frees it with the last process that holds it, however that ends.

try:
    import fcntl
except ImportError as error:  # Windows
    raise MissingDependency(
        "the parallel runtime needs a POSIX system: train with the serial runtime here."
    ) from error


class NamelessMemory:
    """Memory of `size` bytes, zeros at first. Pickling hands it to a process that is being
    started."""

    def __init__(self, size: int, fd: int | None = None) -> None:
        self.size: Final = size
        self.fd: Final = _open(size) if fd is None else fd
        weakref.finalize(self, os.close, self.fd)
        self.buffer: Final = mmap.mmap(self.fd, size)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let in one process at a time. The kernel takes the lock back from a process that died."""
        fcntl.lockf(self.fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self.fd, fcntl.LOCK_UN)

    def __reduce__(self) -> tuple[Any, ...]:
        from multiprocessing.reduction import DupFd

        return _attached, (self.size, DupFd(self.fd))


def _attached(size: int, handed_on: Any) -> NamelessMemory:
    return NamelessMemory(size, handed_on.detach())


def _open(size: int) -> int:
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("rl_impls")
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, size)
    return fd


# Processes of a training: how they start, how they fail, how they end.
#
# They are spawned, never forked: a fork copies locks that threads of BLAS or of the caller hold.


SPAWNING: Final = multiprocessing.get_context("spawn")
# For processes to finish what they are at; then they are killed.
GRACE_S: Final = 5.0
_REMEDY: Final = "the training stopped; what was learned so far is in the learner and can be saved."


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception ended a process."""

    summary: str
    details: str


@dataclass(frozen=True, slots=True)
class Member:
    """A process as its parent sees it."""

    name: str
    process: SpawnProcess
    pipe: Connection
    remedy: str = _REMEDY  # what to do when it died

    def tell(self, message: object) -> None:
        try:
            self.pipe.send(message)
        except BrokenPipeError:
            self.answer()  # tells how it died

    def answer(self) -> Any:
        """Return what it says next, or raise how it died."""
        try:
            said = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            raise WorkerDied(
                f"{self.name} (process {self.process.pid}) "
                f"{exit_reason(self.process.exitcode)}: {self.remedy}"
            ) from None
        if isinstance(said, Failure):
            died = WorkerDied(f"{self.name} raised {said.summary}: {self.remedy}")
            died.add_note(said.details)
            raise died
        return said


def start(name: str, target: Callable[..., None], job: object, *, leaf: bool = True) -> Member:
    """Run `target(job, connection)` in a process of its own; a leaf starts no others."""
    ours, theirs = SPAWNING.Pipe()
    lasting = threading.current_thread() is threading.main_thread()
    begun = (os.getpid(), lasting, target, job, theirs)
    process = SPAWNING.Process(target=_begin, args=begun, name=name, daemon=leaf)
    process.start()
    theirs.close()  # or the pipe would not end with the process
    return Member(name, process, ours)


def _begin(
    parent: int,
    lasting: bool,
    target: Callable[..., None],
    job: object,
    connection: Connection,
) -> None:
    end_with(parent, lasting)
    target(job, connection)


# Between two looks.
LOOK_S: Final = 0.5


# An option of prctl(2): the signal that a process gets when the thread that started it ends.
PR_SET_PDEATHSIG: Final = 1


def end_with(parent: int, lasting: bool = True) -> None:
    """End this process when its parent is gone, whatever it is at: one that compiles for a minute
    looks at no pipe. The kernel does so by itself where the thread that started this process is
    `lasting`, the parent's main one."""
    if lasting and sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it was faster
            os._exit(1)
    else:
        threading.Thread(target=_watch, args=(parent,), name="end_with", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_S)
    os._exit(1)


def end(members: Iterable[Member]) -> None:
    """Close their pipes, which tells them to leave, and wait; kill those that do not."""
    members = list(members)
    for member in members:
        member.pipe.close()
    for member in members:
        member.process.join(GRACE_S)
        if member.process.exitcode is None:
            member.process.kill()
            member.process.join()


@contextmanager
def failures_told(connection: Connection) -> Iterator[None]:
    """Tell the parent of an exception in this process, and end it."""
    try:
        yield
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent is gone, or needs this process no more
    except Exception as error:
        connection.send(Failure(f"{type(error).__name__}: {error}", traceback.format_exc()))
        raise SystemExit(1) from None


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Processes started here never see Ctrl+C, which a terminal sends to all: we end them."""
    resource_tracker.ensure_running()  # else the first start would do it, and let signals in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def exit_reason(exit_code: int | None) -> str:
    """Say in words how a process ended."""
    if exit_code is None:
        return "closed its connection"
    if exit_code >= 0:
        return f"left with exit code {exit_code}"
    try:
        return f"was killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was killed by signal {-exit_code}"
