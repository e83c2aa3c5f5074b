"""What ranks begin with, share and cut alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rl_impls.errors import SettingError
from rl_impls.tabular import CompiledQLearning
from rl_impls.tabular.training import Training

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

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
    """Numbers of steps after each of which a rank looks after messages."""
    part = max(-(-n_steps // SLICES), SHORTEST_SLICE)
    for begin in range(0, n_steps, part):
        yield min(part, n_steps - begin)


def most_advanced(comm: Intracomm, n_syncs: int) -> int:
    """The first rank of those that took most exchanges. When a rank is killed others may have taken
    one more than the rest, or not yet begun: then it is rank 0."""
    counts = comm.allgather(n_syncs)
    return counts.index(max(counts))


def shared(what: str, n: int, n_ranks: int) -> int:
    """A rank's part of `n`; all have equal parts."""
    if n % n_ranks or n < 1:
        raise SettingError(f"{what} cannot be shared by {n_ranks} ranks: choose a multiple.")
    return n // n_ranks


def larger(a: Any, b: Any) -> Any:
    return max(a, b)
