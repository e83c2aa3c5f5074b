"""Q-learning on a NumPy array: quick for long rows and for batches."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.model import Actions, Flags, States
from rl_impls.envs.tabular import Legal
from rl_impls.tabular.in_order import apply_in_order
from rl_impls.tabular.learner import QLearner
from rl_impls.tabular.transitions import Transitions


class NumpyQLearning(QLearner):
    """One float32 array of `xp`, which is NumPy or has its functions."""

    name: ClassVar[str] = "numpy"

    def __init__(self, n_states: int, n_actions: int, *, xp: Any = np, **arguments: Any) -> None:
        super().__init__(n_states, n_actions, **arguments)
        self.xp: Final = xp
        self.q: NDArray[np.float32] = xp.zeros((n_states, n_actions), np.float32)
        self._columns: dict[tuple[int, ...], NDArray[np.intp]] = {}
        self._batch_chance = np.random.default_rng(self.chance.getrandbits(64))

    def greedy(self, s_t: int, legal_t: Legal = None) -> int:
        if legal_t is None:
            return int(self.q[s_t].argmax())
        return legal_t[self._legal_values(s_t, legal_t).argmax()]

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
        target = r_t
        if not terminated and legal_t != ():
            values = self.q[s_t] if legal_t is None else self._legal_values(s_t, legal_t)
            # The entry at the greatest index: a third of the time that values.max() takes.
            target += self._discount * values.item(values.argmax())
        row = self.q[s_tm1]
        value = row.item(a_tm1)
        row[a_tm1] = value + self.alpha * (target - value)
        self.count_steps()

    def act_batch(self, s_t: States, masks_t: Flags | None = None) -> Actions:
        xp = self.xp
        values = self.q[xp.asarray(s_t)]
        if masks_t is not None:
            values = xp.where(xp.asarray(masks_t), values, -xp.inf)
        actions: Actions = self._on_host(values.argmax(axis=1))
        explores = np.flatnonzero(self._batch_chance.random(len(s_t)) < self.epsilon)
        if len(explores):
            actions[explores] = self._any_legal(
                None if masks_t is None else masks_t[explores], len(explores)
            )
        return actions

    def learn_batch(self, batch: Transitions) -> None:
        self._apply(batch, self._alphas(len(batch)))
        self.count_steps(len(batch))

    def table(self) -> NDArray[np.float32]:
        return np.array(self._on_host(self.q))

    def set_table(self, table: NDArray[Any]) -> None:
        self.q[:] = self.xp.asarray(table)

    def entries(self, states: States, actions: Actions) -> NDArray[np.float64]:
        to_device = self.xp.asarray
        values: NDArray[np.float64] = self._on_host(self.q[to_device(states), to_device(actions)])
        return values.astype(np.float64)

    def set_entries(self, states: States, actions: Actions, values: NDArray[Any]) -> None:
        to_device = self.xp.asarray
        self.q[to_device(states), to_device(actions)] = to_device(values)

    def _apply(self, batch: Transitions, alphas: NDArray[np.float64]) -> None:
        apply_in_order(self.xp, self.q, batch, alphas, self._discount)

    def _on_host(self, array: Any) -> Any:
        return array

    def _legal_values(self, s_t: int, legal_t: tuple[int, ...]) -> NDArray[np.float32]:
        values: NDArray[np.float32] = self.q[s_t].take(self._columns_of(legal_t))
        return values

    def _columns_of(self, legal_t: tuple[int, ...]) -> NDArray[np.intp]:
        columns = self._columns.get(legal_t)
        if columns is None:
            columns = self._columns[legal_t] = self.xp.array(legal_t, np.intp)
        return columns

    def _any_legal(self, masks: Flags | None, n: int) -> Actions:
        if masks is None:
            return self._batch_chance.integers(self.n_actions, size=n)
        # The greatest of equally distributed numbers is at every place equally often.
        draws = self._batch_chance.random((n, self.n_actions))
        actions: Actions = np.where(masks, draws, -1.0).argmax(axis=1)
        return actions

    def _alphas(self, n: int) -> NDArray[np.float64]:
        """The learning rate of each of the next `n` steps."""
        schedule = self.settings.learning_rate
        if schedule.per == "step":
            return np.array([schedule.at(self.n_steps + i) for i in range(n)])
        return np.full(n, self.alpha)
