"""Q-learning by the quicker of two paths, lists or NumPy, as the sizes command.

Both crossover points were measured with `python -m tests.rl_impls.tabular.crossover` on 2026-11-16
(AMD EPYC virtual machine, Python 3.11.7, numpy 2.4.6); the script prints those of the machine it is
on.
"""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar, Final, Self, cast

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.model import DRAW_BITS, Model, States
from rl_impls.envs.tabular import TabularEnv
from rl_impls.tabular.arrays import NumpyQLearning
from rl_impls.tabular.learner import QLearner
from rl_impls.tabular.lists import ListQLearning
from rl_impls.tabular.training import Training, Visits, check_count, check_fit

# Playing and learning in one loop, for a table in lists and a model's rules: `train` does what
# `training.train` does with a ListQLearning, draw by draw and digit by digit, without the calls in
# between; and it looks at a row once, for the target and for the next choice. The table is
# *closed*: entries of illegal actions hold minus infinity, so that the plain maximum of a row is
# the maximum over the legal actions.


def close(q: list[list[float]], model: Model) -> None:
    """Put minus infinity where no action is legal; a state without any is never looked at."""
    for row, legal in zip(q, model.legal, strict=True):
        if 0 < len(legal) < len(row):
            for a in set(range(len(row))).difference(legal):
                row[a] = -inf


def train(
    learner: ListQLearning, env: TabularEnv, model: Model, n_steps: int, visits: Visits
) -> Training:
    q, legal, step = learner.q, model.legal, model.step
    random, draw = learner.chance.random, env.chance.getrandbits
    discount, counts_steps = learner.settings.discount, learner.counts_steps
    alpha, epsilon = learner.alpha, learner.epsilon
    n_episodes = 0
    reward_sum = 0.0
    s_tm1 = env.state if env.running else env.reset()[0]
    running = True
    row = q[s_tm1]
    best = max(row)
    for _ in range(n_steps):
        if not running:
            s_tm1 = model.reset(draw(DRAW_BITS))
            row = q[s_tm1]
            best = max(row)
        if random() < epsilon:
            choices = legal[s_tm1]
            a_tm1 = choices[int(random() * len(choices))]
        else:
            a_tm1 = row.index(best)
        s_t, r_t, terminated = step(s_tm1, a_tm1, draw(DRAW_BITS))
        if visits is not None:
            visits[s_tm1, a_tm1] += 1
        reward_sum += r_t
        if terminated:
            row[a_tm1] += alpha * (r_t - row[a_tm1])
            running = False
            n_episodes += 1
            learner.end_episodes()
            alpha, epsilon = learner.alpha, learner.epsilon
        else:
            row_t = q[s_t]
            best = max(row_t)
            row[a_tm1] += alpha * (r_t + discount * best - row[a_tm1])
            if row_t is row:
                best = max(row)  # the update changed this very row
            row = row_t
            running = True
        s_tm1 = s_t
        if counts_steps:
            learner.count_steps()
            alpha, epsilon = learner.alpha, learner.epsilon
    if not counts_steps:
        learner.count_steps(n_steps)
    env.place(s_tm1, running=running)
    return Training(n_steps, n_episodes, reward_sum)


# From this many actions on, a step on an array is quicker than one on lists.
ACTIONS_FOR_NUMPY: Final = 24
# From this many rows on, a batch is quicker as array operations than row by row on lists.
ROWS_FOR_NUMPY: Final = 192


def prefers_lists(n_actions: int, batch_size: int) -> bool:
    return n_actions < ACTIONS_FOR_NUMPY and batch_size < ROWS_FOR_NUMPY


class OptimalQLearning(QLearner):
    """Holds its table in lists or in an array; `batch_size` is that of the batches to come.

    Making one gives an object of the class that fits, as pathlib.Path does.
    """

    name: ClassVar[str] = "optimal"

    def __new__(cls, n_states: int, n_actions: int, *, batch_size: int = 1, **_: Any) -> Self:
        if cls is OptimalQLearning:
            on_lists = prefers_lists(n_actions, batch_size)
            return cast(Self, object.__new__(OptimalOnLists if on_lists else OptimalOnArray))
        return object.__new__(cls)

    def __init__(
        self, n_states: int, n_actions: int, *, batch_size: int = 1, **arguments: Any
    ) -> None:
        super().__init__(n_states, n_actions, **arguments)


class OptimalOnArray(OptimalQLearning, NumpyQLearning):
    """Q-learning on an array, for long rows and large batches."""


class OptimalOnLists(OptimalQLearning, ListQLearning):
    """Q-learning on lists, for short rows and single steps. It plays a model's rules itself: see
    `train`."""

    def adopt(self, model: Model) -> bool:
        if self.adopted is not model:
            self._open()
            self.adopted = model
            close(self.q, model)
        return True

    def train(self, env: TabularEnv, n_steps: int, *, visits: Visits = None) -> Training:
        if env.model is None:
            return super().train(env, n_steps, visits=visits)
        check_fit(self, env.n_states, env.n_actions)
        check_count("steps", n_steps)
        self.adopt(env.model)
        done = Training(0, 0, 0.0)
        for leg in self.legs(n_steps):
            done = done + train(self, env, env.model, leg, visits)
        return done

    def table(self) -> NDArray[np.float32]:
        table = super().table()
        table[np.isneginf(table)] = 0.0
        return table

    def set_table(self, table: NDArray[Any]) -> None:
        super().set_table(table)
        if self.adopted is not None:
            close(self.q, self.adopted)

    def rows(self) -> tuple[States, NDArray[Any]]:
        self._open()
        states_and_rows = super().rows()
        if self.adopted is not None:
            close(self.q, self.adopted)
        return states_and_rows

    def _open(self) -> None:
        """Undo `close`."""
        if self.adopted is not None:
            for row in self.q:
                row[:] = [0.0 if value == -inf else value for value in row]
