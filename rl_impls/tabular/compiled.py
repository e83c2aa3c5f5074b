"""Q-learning in compiled code, the environment's rules included."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.model import Actions, Flags, Model, States
from rl_impls.envs.tabular import TabularEnv
from rl_impls.jit import require_numba
from rl_impls.tabular.arrays import NumpyQLearning
from rl_impls.tabular.lists import train_rows
from rl_impls.tabular.training import TableTransitions, Training, Visits, check_count, check_fit

# A step on lists gains about 1 µs beside one on an array, an entry costs 50 ns there and back.
ENTRIES_PER_STEP: Final = 20


class CompiledQLearning(NumpyQLearning):
    """Trains without coming back to Python where compiled code knows the environment's rules.

    Batches are learned in compiled code in any environment. Single steps take the way of NumPy, and
    environments without compiled rules that of lists.
    """

    name: ClassVar[str] = "compiled"

    def __init__(self, n_states: int, n_actions: int, **arguments: Any) -> None:
        require_numba("CompiledQLearning")
        from rl_impls.tabular import kernels

        super().__init__(n_states, n_actions, **arguments)
        self._kernels: Final = kernels
        self.counter = np.array([self.chance.getrandbits(64)], np.uint64)
        self._kept: Final = np.zeros(n_states, np.uint64)
        self._age = 0

    def adopt(self, model: Model) -> bool:
        """Close the table: see `kernels`."""
        if self.adopted is not model:
            self._open()
            self.adopted = model
            self._close()
        return True

    def train(
        self,
        env: TabularEnv,
        n_steps: int,
        *,
        visits: Visits = None,
        trace: NDArray[np.float64] | None = None,
    ) -> Training:
        """`trace`, (n_steps, 5), takes s_tm1, a_tm1, r_t, s_t and terminated of each step."""
        model = env.model
        if model is None or not self._kernels.has_rules(model.tables):
            return self._train_on_lists(env, n_steps, visits)
        check_fit(self, env.n_states, env.n_actions)
        check_count("steps", n_steps)
        self.adopt(model)
        self._age += self.n_actions  # what is kept of earlier calls counts no more
        done = Training(0, 0, 0.0)
        for leg in self.legs(n_steps):
            rows = None if trace is None else trace[done.steps : done.steps + leg]
            done = done + self._train_leg(env, model, leg, visits, rows)
        return done

    def _train_leg(
        self,
        env: TabularEnv,
        model: Model,
        n_steps: int,
        visits: Visits,
        trace: NDArray[np.float64] | None,
    ) -> Training:
        alpha, epsilon = self.settings.learning_rate, self.settings.epsilon
        state, n_episodes, running, reward_sum = self._kernels.train(
            model.tables, self.q, self._kept, np.uint64(self._age), visits, trace, self.counter,
            n_steps, env.state if env.running else -1, self.settings.discount,
            alpha.course(self.n_steps if alpha.per == "step" else self.n_episodes),
            epsilon.course(self.n_steps if epsilon.per == "step" else self.n_episodes),
        )  # fmt: skip
        self.set_progress(self.n_steps + n_steps, self.n_episodes + n_episodes)
        env.place(state, running=running)
        return Training(n_steps, n_episodes, reward_sum)

    def _train_on_lists(self, env: TabularEnv, n_steps: int, visits: Visits) -> Training:
        """Train where the environment steps in Python: there a step on lists is the quickest, and
        pays for the way there and back unless the table is large or the steps are few."""
        check_fit(self, env.n_states, env.n_actions)
        check_count("steps", n_steps)
        if self.q.size > ENTRIES_PER_STEP * n_steps:
            return super().train(env, n_steps, visits=visits)
        q = self.q.tolist()
        done = Training(0, 0, 0.0)
        try:
            for leg in self.legs(n_steps):
                done = done + train_rows(self, q, env, leg, visits)
        finally:
            self.q[:] = q
        return done

    def act_batch(self, s_t: States, masks_t: Flags | None = None) -> Actions:
        actions = np.empty(len(s_t), np.int64)
        self._kernels.act_rows(self.q, masks_t, s_t, self.epsilon, self.counter, actions)
        return actions

    def learn_batch(self, batch: TableTransitions) -> None:
        self._kernels.learn_rows(
            self.q, batch.s_tm1, batch.a_tm1, batch.r_t, batch.s_t, batch.terminated,
            batch.masks_t, self._alphas(len(batch)), self._discount,
        )  # fmt: skip
        self.count_steps(len(batch))

    def table(self) -> NDArray[np.float32]:
        table = super().table()
        table[np.isneginf(table)] = 0.0
        return table

    def set_table(self, table: NDArray[Any]) -> None:
        super().set_table(table)
        self._close()

    def chance_state(self) -> Any:
        return [super().chance_state(), int(self.counter[0])]

    def set_chance_state(self, state: Any) -> None:
        python_state, counter = state
        super().set_chance_state(python_state)
        self.counter[0] = counter

    def _close(self) -> None:
        if self.adopted is not None:
            self.q[~self.adopted.masks] = -np.inf

    def _open(self) -> None:
        self.q[np.isneginf(self.q)] = 0.0
