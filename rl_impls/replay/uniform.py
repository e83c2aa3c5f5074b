"""Uniform experience replay (Lin, 1992) in arrays that are allocated once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Transitions:
    """Many transitions, one array a field; row i of every array is transition i.

    `terminated_t` alone cuts the bootstrap. A truncated transition is stored with the observation
    the episode was cut at, never with the first one of the next episode.
    """

    obs_tm1: NDArray[np.float32]  # (n, obs_size)
    a_tm1: NDArray[np.int64]  # (n,)
    r_t: NDArray[np.float32]  # (n,)
    obs_t: NDArray[np.float32]  # (n, obs_size)
    terminated_t: NDArray[np.bool_]  # (n,)

    def __post_init__(self) -> None:
        lengths = {len(array) for array in self.arrays()}
        if len(lengths) != 1:
            raise ValueError(f"every field needs the same number of rows, not {sorted(lengths)}")

    @classmethod
    def zeros(cls, n: int, obs_size: int) -> Self:
        return cls(
            obs_tm1=np.zeros((n, obs_size), np.float32),
            a_tm1=np.zeros(n, np.int64),
            r_t=np.zeros(n, np.float32),
            obs_t=np.zeros((n, obs_size), np.float32),
            terminated_t=np.zeros(n, np.bool_),
        )

    def arrays(self) -> tuple[NDArray[np.generic], ...]:
        return (self.obs_tm1, self.a_tm1, self.r_t, self.obs_t, self.terminated_t)

    def __len__(self) -> int:
        return len(self.r_t)


class UniformReplay:
    """A ring of the newest `capacity` transitions, sampled uniformly with replacement."""

    def __init__(
        self, capacity: int, obs_size: int, *, batch_size: int, seed: int | None = None
    ) -> None:
        if capacity < 1 or obs_size < 1 or batch_size < 1:
            raise ValueError(
                "capacity, obs_size and batch_size are at least 1, "
                f"not {capacity}, {obs_size} and {batch_size}"
            )
        self.capacity: Final = capacity
        self._store = Transitions.zeros(capacity, obs_size)
        self._batch = Transitions.zeros(batch_size, obs_size)
        self._rng = np.random.default_rng(seed)
        self._next = 0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add_batch(self, new: Transitions) -> None:
        """Store transitions, oldest first; they overwrite the oldest ones in the ring."""
        n = len(new)
        # More than a ring full: only the newest can stay.
        skip = max(0, n - self.capacity)
        kept = n - skip
        until_end = min(kept, self.capacity - self._next)
        for ring, rows in zip(self._store.arrays(), new.arrays(), strict=True):
            ring[self._next : self._next + until_end] = rows[skip : skip + until_end]
            ring[: kept - until_end] = rows[skip + until_end :]
        self._next = (self._next + kept) % self.capacity
        self._size = min(self._size + kept, self.capacity)

    def sample(self) -> Transitions:
        """Draw a batch. The next call overwrites the returned arrays: copy what has to last."""
        if self._size == 0:
            raise ValueError("the replay buffer is empty: add transitions before sampling")
        rows = self._rng.integers(self._size, size=len(self._batch))
        for ring, out in zip(self._store.arrays(), self._batch.arrays(), strict=True):
            # "clip" changes no row, all are in range; "raise" would gather into a buffer first.
            np.take(ring, rows, axis=0, out=out, mode="clip")
        return self._batch
