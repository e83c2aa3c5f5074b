"""Q-learning on lists: the plain form, and quick where rows are short."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.model import Actions, States
from rl_impls.envs.tabular import Legal
from rl_impls.tabular.learner import QLearner
from rl_impls.tabular.rows import best_action, best_value


class ListQLearning(QLearner):
    """One list of Python floats a state."""

    name: ClassVar[str] = "list"

    def __init__(self, n_states: int, n_actions: int, **arguments: Any) -> None:
        super().__init__(n_states, n_actions, **arguments)
        self.q = [[0.0] * n_actions for _ in range(n_states)]

    def greedy(self, s_t: int, legal_t: Legal = None) -> int:
        return best_action(self.q[s_t], legal_t)

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
        if not terminated:
            target += self._discount * best_value(self.q[s_t], legal_t)
        row = self.q[s_tm1]
        row[a_tm1] += self.alpha * (target - row[a_tm1])
        self.count_steps()

    def table(self) -> NDArray[np.float32]:
        return np.array(self.q, np.float32)

    def set_table(self, table: NDArray[Any]) -> None:
        self.q = table.tolist()

    def entries(self, states: States, actions: Actions) -> NDArray[np.float64]:
        pairs = zip(states.tolist(), actions.tolist(), strict=True)
        return np.fromiter((self.q[s][a] for s, a in pairs), np.float64, len(states))

    def set_entries(self, states: States, actions: Actions, values: NDArray[Any]) -> None:
        for s, a, value in zip(states.tolist(), actions.tolist(), values.tolist(), strict=True):
            self.q[s][a] = value

    def rows(self) -> tuple[States, NDArray[Any]]:
        # In full precision: a learner that goes on from a file goes on exactly.
        table = np.array(self.q)
        states = np.flatnonzero(table.any(axis=1))
        return states, table[states]
