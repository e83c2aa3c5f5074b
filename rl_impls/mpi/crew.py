"""The ranks that are left of a job, where MPI lets them go on without those that were killed.

Open MPI does when it was started with `--with-ft ulfm` (user-level failure mitigation): whoever
waits for a rank that died is told, revokes the communicator, so that all others are told too, and
those that are left shrink it. Elsewhere a launcher ends the whole job.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, Never, cast

from rl_impls.errors import WorkerDied
from rl_impls.mpi.waiting import until_done
from rl_impls.mpi.world import FAILED, is_able, library

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm, Request


KILLED: Final = (
    "another rank was killed: see what it said, and go on from a checkpoint with --resume."
)
LOOK_S: Final = 0.2


class RankDied(WorkerDied):
    """Another rank of this job was killed."""


@contextmanager
def deaths_named() -> Iterator[None]:
    """What MPI says of a rank that was killed becomes a sentence; all else stays as it is."""
    mpi = library()
    try:
        yield
    except mpi.Exception as error:
        if not is_able(mpi) or error.Get_error_class() not in (
            mpi.ERR_PROC_FAILED,
            mpi.ERR_PROC_FAILED_PENDING,
            mpi.ERR_REVOKED,
        ):
            raise
        raise RankDied(KILLED) from error


@contextmanager
def ending_with_a_death(comm: Intracomm) -> Iterator[None]:
    """End this process when another rank was killed. Whoever waits for its memory, or for a lock
    that it held, is not told: a thread has to look."""
    if not is_able(library()) or comm.Get_size() == 1:
        yield
        return
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(comm, over), daemon=True)
    watch.start()
    try:
        with deaths_named():
            yield
    finally:
        over.set()
        watch.join()


def _watch(comm: Intracomm, over: threading.Event) -> None:
    while not over.wait(LOOK_S):
        if comm.Get_failed().Get_size():
            print(f"rl_impls: rank {comm.Get_rank()}: {KILLED}", file=sys.stderr, flush=True)
            os._exit(FAILED)


class Crew:
    """The communicator of those that are left, now."""

    def __init__(self, comm: Intracomm) -> None:
        self.comm = comm
        self._is_able: Final = is_able(library()) and comm.Get_size() > 1

    def all_did(self, work: Callable[[], None], under_way: Callable[[], Iterable[Request]]) -> bool:
        """Whether all ranks did it. Where not, `comm` is that of the others from then on.

        All agree on the answer: a rank that was done before another one was killed is told, too.
        What is under way when a rank hears of it is ended.
        """
        if not self._is_able:
            work()
            return True
        try:
            with deaths_named():
                work()
            done = True
        except RankDied:
            self.comm.Revoke()
            end_all(under_way())
            done = False
        if self._agree(done):
            return True
        n_before = self.comm.Get_size()
        self.comm = cast("Intracomm", self.comm.Shrink())
        if self.comm.Get_rank() == 0:
            n = self.comm.Get_size()
            print(f"rl_impls: {n} of {n_before} ranks are left and go on.", file=sys.stderr)
        return False

    def _agree(self, done: bool) -> bool:
        try:
            with deaths_named():
                return bool(self.comm.Agree(int(done)))
        except RankDied:
            return False


def leave(comm: Intracomm) -> Never:
    """The end of a process that outlived another rank, when all that are left have come here.

    Without `MPI_Finalize`: that of Open MPI 5.0.11 did not return in 6 of 72 such jobs.
    """
    with suppress(RankDied), deaths_named():  # others may be gone already
        until_done(comm.Ibarrier())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def end_all(requests: Iterable[Request]) -> None:
    """Of a communicator that was revoked. MPI may write to their memory until they are over."""
    for request in requests:
        with suppress(library().Exception):
            until_done(request)
