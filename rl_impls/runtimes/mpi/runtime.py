"""Runtimes in the ranks of an MPI job, and what all of them have in common."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rl_impls.errors import SettingError
from rl_impls.runtimes.machine import cap_threads, peak_rss_bytes
from rl_impls.runtimes.mpi.world import Crew
from rl_impls.runtimes.run import Every, Facts, Hook, Progress, Trains
from rl_impls.tabular import CompiledQLearning
from rl_impls.tabular.training import Training

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm, Request

NOTHING_DONE: Final = Training(0, 0, 0.0)
# Between two looks at messages: a millisecond and a half of compiled steps, and about an eighth of
# a period.
SHORTEST_SLICE: Final = 65_536
SLICES: Final = 8


def begin_alike(comm: Intracomm, learner: CompiledQLearning, root: int = 0) -> Training:
    """Let all ranks go on from the learner of one. Returns what it has done; rewards are not
    remembered."""
    table = learner.table()
    counts = np.array([learner.n_steps, learner.n_episodes], np.int64)
    comm.Bcast(table, root)
    comm.Bcast(counts, root)
    n_steps, n_episodes = counts.tolist()
    learner.set_table(table)
    learner.set_progress(n_steps, n_episodes)
    return Training(n_steps, n_episodes, 0.0)


def in_slices(n_steps: int) -> Iterator[int]:
    """Yield numbers of steps after each of which a rank looks after messages."""
    part = max(-(-n_steps // SLICES), SHORTEST_SLICE)
    for begin in range(0, n_steps, part):
        yield min(part, n_steps - begin)


def most_advanced(comm: Intracomm, n_syncs: int) -> int:
    """Return the first rank of those that took most exchanges. When a rank is killed others may
    have taken one more than the rest, or not yet begun: then it is rank 0."""
    counts = comm.allgather(n_syncs)
    return counts.index(max(counts))


def shared(what: str, n: int, n_ranks: int) -> int:
    """Return a rank's part of `n`; all have equal parts."""
    if n % n_ranks or n < 1:
        raise SettingError(f"{what} cannot be shared by {n_ranks} ranks: choose a multiple.")
    return n // n_ranks


def larger(a: Any, b: Any) -> Any:
    return max(a, b)


EVERY_S: Final = 10.0


class Saves(Protocol):
    def save(self, path: Path) -> None: ...


class Checkpoint:
    """Writes what it is offered, but not oftener than every so many seconds; the first at once."""

    def __init__(
        self, path: Path, *, every_s: float = EVERY_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._path: Final = path
        self._every_s: Final = every_s
        self._clock: Final = clock
        self._due = float("-inf")

    def offer(self, snapshot: Callable[[], Saves]) -> None:
        if self._clock() >= self._due:
            self.write(snapshot)

    def write(self, snapshot: Callable[[], Saves]) -> None:
        snapshot().save(self._path)
        self._due = self._clock() + self._every_s


def snapshot_of(
    learner: CompiledQLearning, table: NDArray[np.float32], n_steps: int, n_episodes: int
) -> CompiledQLearning:
    """Return a learner with the same settings, the table and the counts, to be saved."""
    copy = CompiledQLearning(learner.n_states, learner.n_actions, settings=learner.settings)
    copy.set_table(table)
    copy.set_progress(n_steps, n_episodes)
    return copy


# What a runtime in the ranks of an MPI job is, and what all of them have in common.
#
# One is made of a learner or an agent, environments and the communicator, and by name of settings
# and a cap of threads; on all ranks alike.


@dataclass(frozen=True, slots=True)
class Traffic:
    """The cost of exchanging so far, of all ranks together."""

    syncs: int
    bytes_sent: int
    sync_seconds: float  # of the rank that spent most, waiting for others included
    sync_period: int  # steps of a rank until the next exchange, on average


class MpiRuntime(Trains, Protocol):
    """A runtime whose methods all ranks call together; they go on from what rank 0 has learned."""

    @property
    def facts(self) -> Facts: ...

    @property
    def comm(self) -> Intracomm:
        """The communicator of the ranks that are left: where MPI can, they go on without those that
        were killed."""

    def traffic(self) -> Traffic: ...

    def peak_rss_bytes(self) -> int:
        """Return the most memory in use so far, the sum over all ranks."""

    def close(self) -> None:
        """Give back what lies in memory of MPI."""


class InRanks:
    """The part of an `MpiRuntime` that does not depend on how it learns."""

    def __init__(
        self, name: str, comm: Intracomm, threads: int | None, steps_per_sync: int | None = None
    ) -> None:
        self.facts: Final = Facts(name, comm.Get_size(), steps_per_sync, (), threads)
        self._threads: Final = None if threads is None else cap_threads(threads)
        self._comm = comm

    @property
    def comm(self) -> Intracomm:
        return self._comm

    def peak_rss_bytes(self) -> int:
        total: int = self._comm.allreduce(peak_rss_bytes())
        return total

    def close(self) -> None:
        """Give nothing back, unless a runtime has something."""


class Surviving(InRanks, ABC):
    """A runtime whose ranks go on without those that were killed, where MPI can."""

    def __init__(
        self, name: str, comm: Intracomm, threads: int | None, steps_per_sync: int | None = None
    ) -> None:
        super().__init__(name, comm, threads, steps_per_sync)
        self._crew: Final = Crew(comm)

    def _together(self, work: Callable[[], None]) -> None:
        """Repeat until all ranks that are left did it. Where one was killed they begin anew, among
        those that are left."""

        def attempt() -> None:
            if self._comm is not self._crew.comm:
                self._go_on_among(self._crew.comm)
            work()

        while not self._crew.all_did(attempt, self._under_way):
            pass

    @abstractmethod
    def _under_way(self) -> Iterable[Request]:
        """Return the requests that a rank may leave behind when it hears of a death."""

    @abstractmethod
    def _go_on_among(self, comm: Intracomm) -> None:
        """Begin where all that are left can; `comm` is theirs, and `_comm` from then on. Another
        one may die meanwhile: then it is called again, with fewer."""


Ranks = TypeVar("Ranks", bound=MpiRuntime, contravariant=True)


class AtRankZero(Generic[Ranks]):
    """A hook for which the legs of all ranks end, and which one of them calls."""

    def __init__(self, hook: Hook[Ranks]) -> None:
        self.every: Final[Every] = hook.every
        self._hook: Final = hook

    def __call__(self, progress: Progress, runtime: Ranks) -> None:
        if runtime.comm.Get_rank() == 0:
            self._hook(progress, runtime)
