"""What the processes of a training share: the merged table, and who did how much of the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.runtimes.balance import next_piece
from rl_impls.runtimes.memory import NamelessMemory

# The places of `_counts`.
_ASKED, _TAKEN, _STOPPED, _STEPS, _EPISODES, _N_COUNTS = range(6)


class Board:
    """Arrays over one shared memory.

    `q` is the table as merged so far, `n` how often each of its entries was learned, `speeds` the
    steps per second of each worker. All but `stop` and `steps_done` belongs inside `locked`.
    """

    def __init__(
        self, n_states: int, n_actions: int, n_workers: int, memory: NamelessMemory | None = None
    ) -> None:
        self.n_workers: Final = n_workers
        n_pairs = n_states * n_actions
        numbers_bytes = 8 * (_N_COUNTS + n_workers)
        self.memory: Final = memory or NamelessMemory(numbers_bytes + 8 * n_pairs)
        buffer = self.memory.buffer
        self._counts = np.frombuffer(buffer, np.int64, _N_COUNTS)
        self.speeds = np.frombuffer(buffer, np.float64, n_workers, offset=8 * _N_COUNTS)
        shape = (n_states, n_actions)
        q = np.frombuffer(buffer, np.float32, n_pairs, offset=numbers_bytes)
        n = np.frombuffer(buffer, np.uint32, n_pairs, offset=numbers_bytes + 4 * n_pairs)
        self.q: NDArray[np.float32] = q.reshape(shape)
        self.n: NDArray[np.uint32] = n.reshape(shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return Board, (*self.q.shape, self.n_workers, self.memory)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """While a worker merges and takes its next piece; never while it acts or learns."""
        with self.memory.locked():
            yield

    def ask_for(self, n_steps: int) -> None:
        """Workers that take pieces from now on share these steps."""
        self._counts[_ASKED] = n_steps
        self._counts[_TAKEN] = 0

    def take_piece(self, worker: int, steps_per_sync: int) -> int:
        """The steps this worker does next; 0 when none are left or the training was stopped."""
        left = int(self._counts[_ASKED] - self._counts[_TAKEN])
        if left <= 0 or self._counts[_STOPPED]:
            return 0
        piece = next_piece(left, self.speeds.tolist(), worker, steps_per_sync)
        self._counts[_TAKEN] += piece
        return piece

    def stop(self) -> None:
        """No worker takes another piece."""
        self._counts[_STOPPED] = 1

    def set_progress(self, n_steps: int, n_episodes: int) -> None:
        self._counts[_STEPS] = n_steps
        self._counts[_EPISODES] = n_episodes

    def add_progress(self, n_steps: int, n_episodes: int) -> None:
        self._counts[_STEPS] += n_steps
        self._counts[_EPISODES] += n_episodes

    def progress(self) -> tuple[int, int]:
        """The steps and episodes of all workers together, as far as they are merged."""
        return int(self._counts[_STEPS]), int(self._counts[_EPISODES])
