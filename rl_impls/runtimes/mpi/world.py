"""The one place that imports mpi4py: the ranks of this job, and how they end together."""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Never, cast

from rl_impls.errors import ImplsError, MissingDependency, WorkerDied
from rl_impls.runtimes.processes import end_with

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm, Request

FAILED: Final = 1


def library() -> Any:
    """Return the module `mpi4py.MPI`."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # not installed, or no MPI library behind it
        raise MissingDependency(
            f"training over MPI needs mpi4py and an MPI ({error}): pip install mpi4py mpich."
        ) from error
    return MPI


def world() -> Intracomm:
    """Return all ranks that the launcher started; without a launcher this process alone. All ranks
    call this, and leave nothing when they are killed from then on."""
    comm: Intracomm = library().COMM_WORLD
    if comm.Get_size() > 1:
        # Nobody else could end them then, and mpiexec of MPICH waits for them for ever.
        end_with(os.getppid())
        comm.Barrier()  # all have the memory that they share
        _unname_shared_memory()
    return comm


def _unname_shared_memory() -> None:
    """Take away the name by which MPICH makes the memory of its ranks: it would outlive them."""
    with suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        names = {line.rstrip("\n").partition(" /dev/shm/")[2] for line in maps}
        for name in names:
            if name.startswith("mpich_shm_"):
                with suppress(OSError):  # another rank was faster
                    os.unlink(f"/dev/shm/{name}")


@contextmanager
def ending_together(comm: Intracomm) -> Iterator[None]:
    """Let a rank that fails say why and end the job: the others would wait for it for ever."""
    try:
        yield
    except BaseException as error:
        if comm.Get_size() == 1:
            raise
        if not isinstance(error, ImplsError | KeyboardInterrupt):
            traceback.print_exc()
        print(f"rl_impls: rank {comm.Get_rank()}: {_said(error)}", file=sys.stderr)
        sys.stderr.flush()
        if isinstance(error, WorkerDied) and _some_are_dead(comm):
            # All who are left are told so by MPI, as this rank was. With Abort instead, mpiexec of
            # Open MPI 5.0.11 now and then did not come back from a job with a dead rank.
            os._exit(FAILED)
        comm.Abort(FAILED)


def is_able(mpi: Any) -> bool:
    """Tell whether this MPI knows of ranks that died at all (user-level failure mitigation)."""
    return bool(mpi.ERR_PROC_FAILED != mpi.ERR_UNKNOWN)


def _some_are_dead(comm: Intracomm) -> bool:
    return is_able(library()) and comm.Get_failed().Get_size() > 0


def _said(error: BaseException) -> str:
    if isinstance(error, ImplsError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted."
    return f"{type(error).__name__}: {error}."


# Waiting that leaves the core to others: MPI's own keeps it busy, also from who is waited for.
#
# Ranks may be more than cores: rank 0 of a central agent does little while others step.


# A message that is on its way takes less; who has to be waited for longer is not there yet.
AT_ONCE_S: Final = 200e-6
NAP_S: Final = 50e-6


def until(is_there: Callable[[], bool]) -> None:
    begin = time.perf_counter()
    while not is_there():
        if time.perf_counter() - begin > AT_ONCE_S:
            time.sleep(NAP_S)


def until_done(request: Request) -> None:
    until(request.Test)


# The ranks that are left of a job, where MPI lets them go on without those that were killed.
#
# Open MPI does when it was started with `--with-ft ulfm` (user-level failure mitigation): whoever
# waits for a rank that died is told, revokes the communicator, so that all others are told too, and
# those that are left shrink it. Elsewhere a launcher ends the whole job.


KILLED: Final = (
    "another rank was killed: see what it said, and go on from a checkpoint with --resume."
)
LOOK_S: Final = 0.2


class RankDied(WorkerDied):
    """Another rank of this job was killed."""


@contextmanager
def deaths_named() -> Iterator[None]:
    """Make a sentence of what MPI says of a rank that was killed; all else stays as it is."""
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
        """Do it, and tell whether all ranks did. Where not, `comm` is that of the others from then
        on.

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
    """End a process that outlived another rank, when all that are left have come here.

    Without `MPI_Finalize`: that of Open MPI 5.0.11 did not return in 6 of 72 such jobs.
    """
    with suppress(RankDied), deaths_named():  # others may be gone already
        until_done(comm.Ibarrier())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def end_all(requests: Iterable[Request]) -> None:
    """End the requests of a communicator that was revoked. MPI may write to their memory until they
    are over."""
    for request in requests:
        with suppress(library().Exception):
            until_done(request)
