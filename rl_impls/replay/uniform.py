"""Uniform experience replay (Lin, 1992)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.replay.ring import Ring
from rl_impls.replay.transitions import Transitions

__all__ = ["Transitions", "UniformReplay"]


class UniformReplay(Ring):
    """A ring of the newest `capacity` transitions, sampled uniformly with replacement."""

    def __init__(
        self,
        capacity: int,
        obs_size: int,
        *,
        act_size: int = 0,
        batch_size: int,
        seed: int | None = None,
    ) -> None:
        super().__init__(capacity, obs_size, act_size=act_size, batch_size=batch_size, seed=seed)
        self._batch: Final = Transitions.zeros(batch_size, obs_size, act_size)
        self._out: Final = self._batch.columns()
        self._rows: Final = np.zeros(batch_size, np.int64)

    def add_rows(self, rows: NDArray[np.float32]) -> None:
        """Store transitions that lie in memory as `layout` says, oldest first."""
        kept = rows[max(0, len(rows) - self.capacity) :]
        self.n_added += len(rows)
        begin = (self.n_added - len(kept)) % self.capacity
        first = min(len(kept), self.capacity - begin)
        self._ring[begin : begin + first] = kept[:first]
        self._ring[: len(kept) - first] = kept[first:]

    def sample(self) -> Transitions:
        """Draw a batch. The next call overwrites the returned arrays: copy what has to last."""
        self._check_not_empty()
        self._ops.sample(self._rng, len(self), self._rows, self._ring, *self._out)
        return self._batch
