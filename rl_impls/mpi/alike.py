"""What both ways of training over MPI begin with, count and cut alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from rl_impls.runtimes.runtime import Runtime
from rl_impls.tabular import CompiledQLearning
from rl_impls.tabular.training import Training

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

NOTHING_DONE: Final = Training(0, 0, 0.0)
# Between two looks at messages: a millisecond and a half of compiled steps, and about an eighth of
# a period.
SHORTEST_SLICE: Final = 65_536
SLICES: Final = 8


@dataclass(frozen=True, slots=True)
class Traffic:
    """What exchanging has cost all ranks together so far."""

    syncs: int
    bytes_sent: int
    sync_seconds: float  # of the rank that spent most, waiting for others included
    sync_period: int  # steps of a rank until the next exchange, on average


class MpiRuntime(Runtime, Protocol):
    """All ranks make one with equal arguments, and call its methods together."""

    def traffic(self) -> Traffic: ...

    def close(self) -> None:
        """Give back what lies in memory of MPI."""


def begin_alike(comm: Intracomm, learner: CompiledQLearning) -> Training:
    """Let all ranks go on from the learner of rank 0. Returns what it has done; rewards are not
    remembered."""
    table = learner.table()
    counts = np.array([learner.n_steps, learner.n_episodes], np.int64)
    comm.Bcast(table)
    comm.Bcast(counts)
    n_steps, n_episodes = counts.tolist()
    learner.set_table(table)
    learner.set_progress(n_steps, n_episodes)
    return Training(n_steps, n_episodes, 0.0)


def in_slices(n_steps: int) -> Iterator[int]:
    """Numbers of steps after each of which a rank looks after messages."""
    part = max(-(-n_steps // SLICES), SHORTEST_SLICE)
    for begin in range(0, n_steps, part):
        yield min(part, n_steps - begin)


def larger(a: Any, b: Any) -> Any:
    return max(a, b)
