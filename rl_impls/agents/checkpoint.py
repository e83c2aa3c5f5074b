"""The best parameters so far, by validation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from rl_impls.agents.agent import Agent, Array, State
from rl_impls.errors import SettingError


class BestCheckpoint:
    """Keeps a copy of an agent's parameters whenever no validation before was better.

    A training may unlearn what it had found; the best that was validated is not lost with it. Of
    equals it is the last: where returns have a ceiling, the first to touch it was lucky.
    """

    def __init__(self, validate: Callable[[Agent], float]) -> None:
        self.best = -math.inf
        self.n_validations = 0
        self.n_since_best = 0
        self._validate: Final = validate
        self._kept: list[Array] = []

    def judge(self, agent: Agent) -> None:
        """Validate the agent as it is now."""
        score = float(self._validate(agent))
        if math.isnan(score):
            raise SettingError("a validation returned NaN: return the mean of finite returns.")
        self.n_validations += 1
        self.n_since_best = 0 if score > self.best else self.n_since_best + 1
        if score >= self.best:
            self.best = score
            self._kept = [array.copy() for array in agent.parameters()]

    def restore_best(self, agent: Agent) -> None:
        """Give the agent the parameters of the best validation, if there was one."""
        if self._kept:
            agent.set_parameters(self._kept)

    def state(self) -> State:
        kept = {f"kept_{i}": array.copy() for i, array in enumerate(self._kept)}
        return {"best": np.array(self.best), "counts": np.array(self._counts()), **kept}

    def set_state(self, state: Mapping[str, Array]) -> None:
        self.best = float(state["best"])
        self._set_counts([int(count) for count in state["counts"]])
        self._kept = [state[f"kept_{i}"].copy() for i in range(len(state) - 2)]

    def _counts(self) -> list[int]:
        return [self.n_validations, self.n_since_best]

    def _set_counts(self, counts: list[int]) -> None:
        self.n_validations, self.n_since_best = counts
