"""The communicator that tests get: mpi4py's own, whose calls can be timed when somebody looks.

Imported in ranks only. Timing every call of every slice would cost a small message half of its
time, so it is done in a slice of its own that is not judged.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from mpi4py import MPI

NAMES = (
    "Send", "Bsend", "Ssend", "Rsend", "Recv", "Sendrecv", "Sendrecv_replace", "Isend", "Irecv",
    "Probe", "Mprobe", "Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather",
    "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Reduce", "Allreduce", "Reduce_scatter",
    "Reduce_scatter_block", "Scan", "Exscan",
)  # fmt: skip


class RankComm(MPI.Intracomm):
    """As mpi4py's. A class of its own, since only such an object can become a `TimedComm`."""


class Spent:
    """What calls of the communicator took since somebody began to look."""

    wall_ns = 0
    cpu_ns = 0
    calls = 0


def _timed(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        begun, on_core = time.perf_counter_ns(), time.thread_time_ns()
        try:
            return method(*args, **kwargs)
        finally:
            Spent.cpu_ns += time.thread_time_ns() - on_core
            Spent.wall_ns += time.perf_counter_ns() - begun
            Spent.calls += 1

    return call


def _methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in NAMES:
        for spelling in (name, name.lower()):
            if method := getattr(MPI.Intracomm, spelling, None):
                yield spelling, _timed(method)


TimedComm = type("TimedComm", (RankComm,), dict(_methods()))


@contextmanager
def timed(comm: RankComm) -> Iterator[type[Spent]]:
    """Within, calls of `comm` are counted in what is yielded."""
    Spent.wall_ns = Spent.cpu_ns = Spent.calls = 0
    comm.__class__ = TimedComm
    try:
        yield Spent
    finally:
        comm.__class__ = RankComm
