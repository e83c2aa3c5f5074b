"""What all ranks have agreed on so far, in a file: whole, or not there."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from rl_impls.tabular import CompiledQLearning

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
    """A learner with the same settings, the table and the counts, to be saved."""
    copy = CompiledQLearning(learner.n_states, learner.n_actions, settings=learner.settings)
    copy.set_table(table)
    copy.set_progress(n_steps, n_episodes)
    return copy
