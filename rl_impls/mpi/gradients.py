"""Gradients of all ranks become their mean, bit for bit the same on each.

Every rank adds up one part of the array, in the order of ranks, and tells the others the mean:
`MPI_Allreduce` may add up in another order at each rank. However many ranks there are, each sends
twice the array. Parts end with the number of their exchange, for the reason told in `exchange`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.mpi.exchange import lost
from rl_impls.mpi.waiting import until_done

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm, Request

Array = NDArray[Any]
# Numbers of exchanges begin anew there: a float32 holds all whole numbers below.
MOST: Final = 2**24


class Mean:
    """Of one array: start, hand on, finish. All ranks take these steps in the same order, with
    those of other arrays in between: MPI matches collectives by it."""

    def __init__(self, comm: Intracomm, like: Array) -> None:
        self._comm: Final = comm
        self._n_ranks: Final = comm.Get_size()
        self._number = 0
        part = -(-like.size // self._n_ranks)
        self._padded: Final = np.zeros((self._n_ranks, part), like.dtype)
        # A row for each rank, with the number at its end.
        self._own, self._parts, self._means = np.zeros((3, self._n_ranks, part + 1), like.dtype)
        self._mean: Final = np.zeros(part + 1, like.dtype)
        self.request: Request | None = None  # that is under way

    @property
    def n_bytes(self) -> int:
        """That all ranks send together: rows go there and back, but not to oneself."""
        return 2 * self._own.nbytes * (self._n_ranks - 1)

    def start(self, array: Array) -> None:
        self._number = (self._number + 1) % MOST
        self._padded.reshape(-1)[: array.size] = array
        self._own[:, :-1] = self._padded
        self._own[:, -1] = self._number
        self.request = self._comm.Ialltoall(self._own, self._parts)

    def poll(self) -> None:
        """Let MPI look after it."""
        if self.request is not None:
            self.request.Test()

    def hand_on(self) -> None:
        self._arrived(self._parts)
        np.mean(self._parts, axis=0, out=self._mean)
        self._mean[-1] = self._number
        self.request = self._comm.Iallgather(self._mean, self._means)

    def finish(self, array: Array) -> None:
        self._arrived(self._means)
        self.request = None
        self._padded[:] = self._means[:, :-1]
        array[:] = self._padded.reshape(-1)[: array.size]

    def _arrived(self, rows: Array) -> None:
        assert self.request is not None, "nothing was started"
        until_done(self.request)
        check_numbers(rows, self._number)


def check_numbers(rows: Array, number: int) -> None:
    """That each rank's row is of this exchange."""
    for rank in np.flatnonzero(rows[:, -1] != number):
        raise lost(int(rank))


class RankPeers:
    """The other ranks, to an agent. What is sent before the next `receive` comes in the same order
    every time."""

    def __init__(self, comm: Intracomm) -> None:
        self.join(comm)
        self.syncs = 0
        self.n_bytes = 0  # that all ranks sent
        self.seconds = 0.0  # of this rank, waiting for others included

    def join(self, comm: Intracomm) -> None:
        """Go on among these ranks; what was under way is forgotten."""
        self._comm = comm
        self.n_ranks = comm.Get_size()
        self._means: list[Mean] = []
        self._sent: list[Array] = []
        self._number = 0

    @property
    def requests(self) -> list[Request]:
        """What is under way."""
        return [mean.request for mean in self._means if mean.request is not None]

    def join_moments(self, moments: Array) -> None:
        with self._counted():
            self._number += 1
            own = np.append(moments.reshape(-1), self._number)
            rows = np.zeros((self.n_ranks, len(own)))
            until_done(self._comm.Iallgather(own, rows))
            check_numbers(rows, self._number)
            moments[:] = joined([row[:-1].reshape(moments.shape) for row in rows])
            self.n_bytes += rows.nbytes * (self.n_ranks - 1)

    def send(self, grads: Array) -> None:
        with self._counted():
            for mean in self._means[: len(self._sent)]:
                mean.poll()
            if len(self._sent) == len(self._means):
                self._means.append(Mean(self._comm, grads))
            self._means[len(self._sent)].start(grads)
            self._sent.append(grads)

    def receive(self) -> None:
        with self._counted():
            for mean in self._means:
                mean.hand_on()
            for mean, grads in zip(self._means, self._sent, strict=True):
                mean.finish(grads)
                self.n_bytes += mean.n_bytes
            self._sent.clear()
            self.syncs += 1

    @contextmanager
    def _counted(self) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - began


def joined(moments: list[Array]) -> Array:
    """Count, mean and sum of squared distances of all numbers together (Chan, Golub & LeVeque,
    1979); rows of (n, 3) arrays belong together."""
    whole, *others = moments
    for other in others:
        n_a, mean_a, square_a = whole.T
        n_b, mean_b, square_b = other.T
        n, apart = n_a + n_b, mean_b - mean_a
        mean = mean_a + apart * n_b / n
        square = square_a + square_b + apart**2 * n_a * n_b / n
        whole = np.stack([n, mean, square], axis=1)
    return whole
