"""An end to trainings that no longer get better, with the best parameters kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from rl_impls.agents.agent import Agent, Array, State, take_over
from rl_impls.agents.settings import at_least
from rl_impls.envs.control.step import Step
from rl_impls.errors import SettingError


class EarlyStopping:
    """A hook of `train`: validates after every `every` steps, and ends the training after
    `patience` validations in a row that were no better than the best.

    The agent then gets the parameters of the best validation back. Where the training ends for
    another reason, `restore_best` does the same.
    """

    def __init__(
        self, validate: Callable[[Agent], float], *, every: int, patience: int = 10
    ) -> None:
        at_least(1, every=every, patience=patience)
        self.every: Final = every
        self.patience: Final = patience
        self.best = -math.inf
        self.n_validations = 0
        self.n_since_best = 0
        self._validate: Final = validate
        self._next = every
        self._kept: list[Array] = []

    def __call__(self, agent: Agent, step: Step) -> bool:
        if agent.n_steps < self._next:
            return False
        self._next = agent.n_steps - agent.n_steps % self.every + self.every
        self._judge(agent, float(self._validate(agent)))
        if self.n_since_best < self.patience:
            return False
        self.restore_best(agent)
        return True

    def _judge(self, agent: Agent, score: float) -> None:
        if math.isnan(score):
            raise SettingError("a validation returned NaN: return the mean of finite returns.")
        self.n_validations += 1
        self.n_since_best += 1
        if score > self.best:
            self.best = score
            self.n_since_best = 0
            self._kept = [array.copy() for array in agent.parameters()]

    def restore_best(self, agent: Agent) -> None:
        """Give the agent the parameters of the best validation, if there was one."""
        if self._kept:
            for array, best in zip(agent.parameters(), self._kept, strict=True):
                take_over(array, best, "a kept array of parameters")

    def state(self) -> State:
        counts = np.array([self.n_validations, self.n_since_best, self._next])
        kept = {f"kept_{i}": array.copy() for i, array in enumerate(self._kept)}
        return {"best": np.array(self.best), "counts": counts, **kept}

    def set_state(self, state: Mapping[str, Array]) -> None:
        self.best = float(state["best"])
        self.n_validations, self.n_since_best, self._next = map(int, state["counts"])
        self._kept = [state[f"kept_{i}"].copy() for i in range(len(state) - 2)]
