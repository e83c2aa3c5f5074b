"""An end to trainings that no longer get better, with the best parameters kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rl_impls.agents.agent import Agent
from rl_impls.agents.checkpoint import BestCheckpoint
from rl_impls.agents.settings import at_least
from rl_impls.envs.control.step import Step


class EarlyStopping(BestCheckpoint):
    """A hook of `train`: validates after every `every` steps, and ends the training after
    `patience` validations in a row that were no better than the best.

    The agent then gets the parameters of the best validation back. Where the training ends for
    another reason, `restore_best` does the same.
    """

    def __init__(
        self, validate: Callable[[Agent], float], *, every: int, patience: int = 10
    ) -> None:
        at_least(1, every=every, patience=patience)
        super().__init__(validate)
        self.every: Final = every
        self.patience: Final = patience
        self._next = every

    def __call__(self, agent: Agent, step: Step) -> bool:
        if agent.n_steps < self._next:
            return False
        self._next = agent.n_steps - agent.n_steps % self.every + self.every
        self.judge(agent)
        if self.n_since_best < self.patience:
            return False
        self.restore_best(agent)
        return True

    def _counts(self) -> list[int]:
        return [*super()._counts(), self._next]

    def _set_counts(self, counts: list[int]) -> None:
        *common, self._next = counts
        super()._set_counts(common)
