"""Q-learning on lists, of all states or of those alone that something was learned about."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.model import Actions, States
from rl_impls.envs.tabular import Legal, TabularEnv
from rl_impls.tabular.learner import QLearner
from rl_impls.tabular.training import Training, Visits


def best_action(row: Sequence[float], legal: Legal) -> int:
    """Return the best legal action, the first of equals."""
    if legal is None:
        return row.index(max(row))
    values = [row[a] for a in legal]
    return legal[values.index(max(values))]


def best_value(row: Sequence[float], legal: Legal) -> float:
    """Return the value of the best legal action; 0 where none is legal."""
    return max(row if legal is None else [row[a] for a in legal], default=0.0)


def train_rows(
    learner: QLearner, q: list[list[float]], env: TabularEnv, n_steps: int, visits: Visits
) -> Training:
    """Play and learn into lists for `n_steps` steps, in an environment that knows its own rules:
    a leg, in which no schedule of strides changes.

    It does what `training.train` does with a ListQLearning, draw by draw and digit by digit,
    without the calls in between; and it looks for a row's best action once, for the target and for
    the next choice. What it learned until an environment fails is in `q` and in the counts.
    """
    random, step, count, discount = (
        learner.chance.random, env.step, learner.count_steps, learner.settings.discount
    )  # fmt: skip
    every_action = range(learner.n_actions)
    alpha, epsilon, counts_steps = learner.alpha, learner.epsilon, learner.counts_steps
    n_episodes = n_counted = 0
    reward_sum = 0.0
    s_tm1, legal = (env.state, env.legal) if env.running or n_steps == 0 else env.reset()
    row, a_best = q[s_tm1], -1  # not looked for yet
    try:
        for _ in range(n_steps):
            if not env.running:
                s_tm1, legal = env.reset()
                row, a_best = q[s_tm1], -1
            if random() < epsilon:
                choices = every_action if legal is None else legal
                a_tm1 = choices[int(random() * len(choices))]
            elif a_best >= 0:
                a_tm1 = a_best
            else:
                a_tm1 = row.index(max(row)) if legal is None else best_action(row, legal)
            s_t, target, terminated, _truncated, legal = step(a_tm1)
            reward_sum += target
            row_t = q[s_t]
            a_best = -1
            if not terminated and legal != ():
                a_best = row_t.index(max(row_t)) if legal is None else best_action(row_t, legal)
                target += discount * row_t[a_best]
            row[a_tm1] += alpha * (target - row[a_tm1])
            n_counted += 1
            if visits is not None:
                visits[s_tm1, a_tm1] += 1
            if row_t is row:
                a_best = -1  # the update changed this very row
            s_tm1, row = s_t, row_t
            if counts_steps:
                count()
                n_counted = 0
                alpha, epsilon = learner.alpha, learner.epsilon
            if not env.running:
                n_episodes += 1
                learner.end_episodes()
                alpha, epsilon = learner.alpha, learner.epsilon
    finally:
        count(n_counted)
    return Training(n_steps, n_episodes, reward_sum)


class ListQLearning(QLearner):
    """Q-learning on one list of Python floats a state."""

    name: ClassVar[str] = "list"
    most_entries: ClassVar[int] = 2**27

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


class SparseQLearning(QLearner):
    """Q-learning on a float32 row for each learned state; a row that is not stored is all zeros.

    Rows are whole, so the maximum sees the zeros of actions never taken. Looking at a state, to act
    in it or to bootstrap from it, stores nothing.
    """

    name: ClassVar[str] = "sparse"

    def __init__(self, n_states: int, n_actions: int, **arguments: Any) -> None:
        super().__init__(n_states, n_actions, **arguments)
        self._zeros = array("f", [0.0] * n_actions)
        self._stored: dict[int, array[float]] = {}

    def __len__(self) -> int:
        """Return the number of stored states."""
        return len(self._stored)

    def greedy(self, s_t: int, legal_t: Legal = None) -> int:
        return best_action(self._stored.get(s_t, self._zeros), legal_t)

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
            row = self._stored.get(s_t, self._zeros)
            target += self._discount * best_value(row, legal_t)
        stored = self._stored.get(s_tm1)
        if stored is None:
            stored = self._stored[s_tm1] = self._zeros[:]
        stored[a_tm1] += self.alpha * (target - stored[a_tm1])
        self.count_steps()

    def table(self) -> NDArray[np.float32]:
        """Return the dense table, which suits small ones; `rows` has only what is stored."""
        table = np.zeros((self.n_states, self.n_actions), np.float32)
        states, rows = self.rows()
        table[states] = rows
        return table

    def set_table(self, table: NDArray[Any]) -> None:
        states = np.flatnonzero(table.any(axis=1))
        self.set_rows(states, table[states])

    def entries(self, states: States, actions: Actions) -> NDArray[np.float64]:
        pairs = zip(states.tolist(), actions.tolist(), strict=True)
        values = (self._stored.get(s, self._zeros)[a] for s, a in pairs)
        return np.fromiter(values, np.float64, len(states))

    def set_entries(self, states: States, actions: Actions, values: NDArray[Any]) -> None:
        for s, a, value in zip(states.tolist(), actions.tolist(), values.tolist(), strict=True):
            self._stored.setdefault(s, self._zeros[:])[a] = value

    def rows(self) -> tuple[States, NDArray[np.float32]]:
        states = np.fromiter(self._stored, np.int64, len(self._stored))
        rows = np.frombuffer(b"".join(self._stored.values()), np.float32)
        return states, rows.reshape(-1, self.n_actions)

    def set_rows(self, states: States, rows: NDArray[Any]) -> None:
        values = rows.astype(np.float32)
        self._stored = {
            state: array("f", row.tobytes())
            for state, row in zip(states.tolist(), values, strict=True)
        }
