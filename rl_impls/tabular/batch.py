"""Q-learning that collects transitions and learns them together."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.tabular import Legal
from rl_impls.errors import SettingError
from rl_impls.tabular.arrays import NumpyQLearning
from rl_impls.tabular.transitions import Transitions

BUFFER_SIZE: Final = 32


class BatchQLearning(NumpyQLearning):
    """Holds transitions back until its buffer is full; acts on the table as it was before them.

    The rows are applied in order, so that the table is the one a learner without a buffer reaches
    from the same transitions. Training, saving and `table` learn what is pending.
    """

    name: ClassVar[str] = "batch"

    def __init__(
        self, n_states: int, n_actions: int, *, buffer_size: int = BUFFER_SIZE, **arguments: Any
    ) -> None:
        super().__init__(n_states, n_actions, **arguments)
        if buffer_size < 1:
            raise SettingError(f"a buffer holds at least 1 transition, not {buffer_size}.")
        self._pending: Final = Transitions(
            np.zeros(buffer_size, np.int64), np.zeros(buffer_size, np.int64),
            np.zeros(buffer_size, np.float32), np.zeros(buffer_size, np.int64),
            np.zeros(buffer_size, np.bool_), np.zeros((buffer_size, n_actions), np.bool_),
        )  # fmt: skip
        self._rates: NDArray[np.float64] = np.zeros(buffer_size)
        self._n_pending = 0

    def learn(
        self,
        s_tm1: int,
        a_tm1: int,
        r_t: float,
        s_t: int,
        *,
        terminated: bool,
        legal_t: Legal = None,
    ) -> None:
        i = self._n_pending
        pending = self._pending
        pending.s_tm1[i] = s_tm1
        pending.a_tm1[i] = a_tm1
        pending.r_t[i] = r_t
        pending.s_t[i] = s_t
        pending.terminated[i] = terminated
        assert pending.masks_t is not None
        mask = pending.masks_t[i]
        mask[:] = legal_t is None
        if legal_t:
            mask[list(legal_t)] = True
        self._rates[i] = self.alpha
        self._n_pending = i + 1
        self.count_steps()
        if self._n_pending == len(self._rates):
            self.flush()

    def learn_batch(self, batch: Transitions) -> None:
        self.flush()
        super().learn_batch(batch)

    def flush(self) -> None:
        n, pending = self._n_pending, self._pending
        if n == 0:
            return
        self._n_pending = 0
        assert pending.masks_t is not None
        rows = Transitions(
            pending.s_tm1[:n], pending.a_tm1[:n], pending.r_t[:n], pending.s_t[:n],
            pending.terminated[:n], pending.masks_t[:n],
        )  # fmt: skip
        self._apply(rows, self._rates[:n])

    def table(self) -> NDArray[np.float32]:
        self.flush()
        return super().table()

    def set_table(self, table: NDArray[Any]) -> None:
        self._n_pending = 0
        super().set_table(table)
