"""Processes of a training: how they start, how they fail, how they end.

They are spawned, never forked: a fork copies locks that threads of BLAS or of the caller hold.
"""

from __future__ import annotations

import multiprocessing
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Final

from rl_impls.errors import WorkerDied

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
        """What it says next; how it died, if it did."""
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
    """`target(job, connection)` in a process of its own; a leaf starts no others."""
    ours, theirs = SPAWNING.Pipe()
    process = SPAWNING.Process(target=target, args=(job, theirs), name=name, daemon=leaf)
    process.start()
    theirs.close()  # or the pipe would not end with the process
    return Member(name, process, ours)


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
    """In the process itself: an exception is told to the parent, and ends it."""
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
    """How a process ended, in words."""
    if exit_code is None:
        return "closed its connection"
    if exit_code >= 0:
        return f"left with exit code {exit_code}"
    try:
        return f"was killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was killed by signal {-exit_code}"
