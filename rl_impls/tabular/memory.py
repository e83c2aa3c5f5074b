"""Q-learning that allocates next to nothing while it runs."""

from __future__ import annotations

import gc
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.tabular.arrays import NumpyQLearning

COLLECT_EVERY_STEPS: Final = 10_000


class MemoryOptimizedQLearning(NumpyQLearning):
    """Works in arrays that are allocated once, and collects garbage every 10,000 steps."""

    name: ClassVar[str] = "memory"

    def __init__(self, n_states: int, n_actions: int, **arguments: Any) -> None:
        super().__init__(n_states, n_actions, **arguments)
        work = np.empty(n_actions, np.float32)
        self._work: Final = [work[:n] for n in range(n_actions + 1)]
        self._collect_at = COLLECT_EVERY_STEPS

    def _legal_values(self, s_t: int, legal_t: tuple[int, ...]) -> NDArray[np.float32]:
        columns = self._columns_of(legal_t)
        # "clip" changes no column, all are in range; "raise" would gather into a buffer first.
        self.q[s_t].take(columns, out=self._work[len(legal_t)], mode="clip")
        return self._work[len(legal_t)]

    def count_steps(self, n: int = 1) -> None:
        super().count_steps(n)
        if self.n_steps >= self._collect_at:
            self._collect_at = self.n_steps + COLLECT_EVERY_STEPS
            # The young generations: what training leaves behind is there, and looking through the
            # old one takes longer than ten thousand steps where a large library is imported.
            gc.collect(1)
