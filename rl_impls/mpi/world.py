"""The one place that imports mpi4py: the ranks of this job, and how they end together."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from rl_impls.errors import ImplsError, MissingDependency, WorkerDied

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

FAILED: Final = 1


def library() -> Any:
    """The module `mpi4py.MPI`."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # not installed, or no MPI library behind it
        raise MissingDependency(
            f"training over MPI needs mpi4py and an MPI ({error}): pip install mpi4py mpich."
        ) from error
    return MPI


def world() -> Intracomm:
    """All ranks that the launcher started; without a launcher this process alone."""
    comm: Intracomm = library().COMM_WORLD
    return comm


@contextmanager
def ending_together(comm: Intracomm) -> Iterator[None]:
    """A rank that fails says why and ends the job: the others would wait for it for ever."""
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
    """Whether this MPI knows of ranks that died at all (user-level failure mitigation)."""
    return bool(mpi.ERR_PROC_FAILED != mpi.ERR_UNKNOWN)


def _some_are_dead(comm: Intracomm) -> bool:
    return is_able(library()) and comm.Get_failed().Get_size() > 0


def _said(error: BaseException) -> str:
    if isinstance(error, ImplsError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted."
    return f"{type(error).__name__}: {error}."
