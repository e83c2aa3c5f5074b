"""The communicator that tests get: mpi4py's own, whose calls can be timed; and checks that all
ranks make together, so that all of them fail, and none waits for one that did.

Imported in ranks only. Timing every call of every slice would cost a small message half of its
time, so it is done in a slice of its own that is not judged.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from types import TracebackType
from typing import Any

from mpi4py import MPI

NAMES = (
    "Send", "Bsend", "Ssend", "Rsend", "Recv", "Sendrecv", "Sendrecv_replace", "Isend", "Irecv",
    "Probe", "Mprobe", "Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather",
    "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Reduce", "Allreduce", "Reduce_scatter",
    "Reduce_scatter_block", "Scan", "Exscan",
)  # fmt: skip


class RankComm(MPI.Intracomm):
    """mpi4py's communicator as a class of our own: only such an object can become a `TimedComm`."""


class Spent:
    """The time that calls of the communicator took since somebody began to look."""

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
    """Count calls of `comm` in what is yielded."""
    Spent.wall_ns = Spent.cpu_ns = Spent.calls = 0
    comm.__class__ = TimedComm
    try:
        yield Spent
    finally:
        comm.__class__ = RankComm


# -- checks of all ranks -------------------------------------------------------------------------

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these


def rank_assert(comm: Any, condition: object, message: str) -> None:
    """Fail on every rank where `condition` is false on any."""
    complaints = comm.allgather(None if condition else message)
    if failed := _failed(complaints):
        raise AssertionError(f"{failed} of {len(complaints)}: {_first(complaints) or 'is false'}")


class RankRaises:
    """Holds where every rank raises `expected` in the block; fails on all of them otherwise."""

    def __init__(
        self,
        comm: Any,
        expected: type[BaseException] | tuple[type[BaseException], ...],
        match: str | None,
    ) -> None:
        self._comm = comm
        self._expected = expected
        self._match = match
        self.value: BaseException | None = None  # what this rank raised

    def __enter__(self) -> "RankRaises":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        self.value = value
        complaints = self._comm.allgather(self._complaint(value))
        if complaints[self._comm.Get_rank()] is not None and value is not None:
            return False  # with its own traceback
        if failed := _failed(complaints):
            text = f"{failed} of {len(complaints)} {_first(complaints)}"
            raise AssertionError(text) from value
        return True

    def _complaint(self, value: BaseException | None) -> str | None:
        if value is None:
            return f"did not raise {self._expected!r}"
        if not isinstance(value, self._expected):
            return f"raised {value!r}"
        if self._match is not None and not re.search(self._match, str(value)):
            return f"raised {value!r}, which does not match {self._match!r}"
        return None


def _failed(complaints: Sequence[str | None]) -> str:
    """Name the ranks that complain; empty: none does."""
    ranks = [str(rank) for rank, text in enumerate(complaints) if text is not None]
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(ranks)}" if ranks else ""


def _first(complaints: Sequence[str | None]) -> str:
    return next(text for text in complaints if text is not None)
