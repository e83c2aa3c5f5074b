"""What a runtime in the ranks of an MPI job is, and what all of them have in common.

One is made of a learner or an agent, environments and the communicator, and by name of settings and
a cap of threads; on all ranks alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from rl_impls.monitor.usage import peak_rss_bytes
from rl_impls.mpi.crew import Crew
from rl_impls.runtimes.placement import cap_threads
from rl_impls.runtimes.run import Every, Hook, Progress
from rl_impls.runtimes.runtime import Facts, Trains

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm, Request


@dataclass(frozen=True, slots=True)
class Traffic:
    """What exchanging has cost all ranks together so far."""

    syncs: int
    bytes_sent: int
    sync_seconds: float  # of the rank that spent most, waiting for others included
    sync_period: int  # steps of a rank until the next exchange, on average


class MpiRuntime(Trains, Protocol):
    """All ranks call its methods together, and go on from what rank 0 has learned."""

    @property
    def facts(self) -> Facts: ...

    @property
    def comm(self) -> Intracomm:
        """Of the ranks that are left: where MPI can, they go on without those that were killed."""

    def traffic(self) -> Traffic: ...

    def peak_rss_bytes(self) -> int:
        """The most memory in use so far, the sum over all ranks."""

    def close(self) -> None:
        """Give back what lies in memory of MPI."""


class InRanks:
    """All of an `MpiRuntime` that does not depend on how it learns."""

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
        """Nothing to give back, unless a runtime says so."""


class Surviving(InRanks, ABC):
    """One whose ranks go on without those that were killed, where MPI can."""

    def __init__(
        self, name: str, comm: Intracomm, threads: int | None, steps_per_sync: int | None = None
    ) -> None:
        super().__init__(name, comm, threads, steps_per_sync)
        self._crew: Final = Crew(comm)

    def _together(self, work: Callable[[], None]) -> None:
        """Until all ranks that are left did it. Where one was killed they begin anew, among those
        that are left."""

        def attempt() -> None:
            if self._comm is not self._crew.comm:
                self._go_on_among(self._crew.comm)
            work()

        while not self._crew.all_did(attempt, self._under_way):
            pass

    @abstractmethod
    def _under_way(self) -> Iterable[Request]:
        """What a rank may leave behind that hears of a death."""

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
