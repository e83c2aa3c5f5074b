"""The evaluation of agents, on environments of their own and without exploration, and the best so
far."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.agents.agent import Agent, Array, DeepAgent, Plays, State
from rl_impls.envs.control.make import make_batch
from rl_impls.errors import SettingError, at_least


def evaluate(
    agent: Plays, env_name: str, episodes: int = 100, *, seed: int = 0, **arguments: Any
) -> NDArray[np.float64]:
    """Return what each of `episodes` greedy episodes earned, undiscounted.

    Each is played in an environment of its own, all at once: who counted the first episodes to end
    would count the short ones.
    """
    at_least(1, episodes=episodes)
    env = make_batch(env_name, episodes, seed=seed, **arguments)
    player = agent.player(episodes) if isinstance(agent, DeepAgent) else agent
    returns = np.zeros(episodes)
    running = np.ones(episodes, np.bool_)
    while running.any():
        step = env.step(player.greedy(env.obs))
        np.add(returns, step.r_t, out=returns, where=running)
        running &= ~(step.terminated | step.truncated)
    if hasattr(env, "close"):
        env.close()
    return returns


class BestCheckpoint:
    """Keeps a copy of an agent's parameters whenever no validation before was better.

    A training may unlearn what it had found; the best that was validated is not lost with it. Of
    equals it is the last: where returns have a ceiling, the first to touch it was lucky. With
    `patience` a training is over after so many validations in a row that were no better than the
    best: the hook `runtimes.deep.Validate` then ends it, with the best parameters back. One of
    parameters that were judged before, as within a round of PPO, takes no patience.
    """

    def __init__(self, validate: Callable[[Agent], float], *, patience: int | None = None) -> None:
        if patience is not None:
            at_least(1, patience=patience)
        self.best = -math.inf
        self.n_validations = 0
        self.n_since_best = 0
        self.patience: Final = patience
        self._validate: Final = validate
        self._kept: list[Array] = []
        self._judged: int | None = None  # the checksum of the parameters that were

    @property
    def is_over(self) -> bool:
        """Tell whether patience has come to its end."""
        return self.patience is not None and self.n_since_best >= self.patience

    def judge(self, agent: Agent) -> None:
        """Validate the agent as it is now."""
        score = float(self._validate(agent))
        if math.isnan(score):
            raise SettingError("a validation returned NaN: return the mean of finite returns.")
        self.n_validations += 1
        before, self._judged = self._judged, _checksum(agent.parameters())
        if score > self.best:
            self.n_since_best = 0
        elif self._judged != before:
            self.n_since_best += 1
        if score >= self.best:
            self.best = score
            self._kept = [array.copy() for array in agent.parameters()]

    def restore_best(self, agent: Agent) -> None:
        """Give the agent the parameters of the best validation, if there was one."""
        if self._kept:
            agent.set_parameters(self._kept)

    def state(self) -> State:
        kept = {f"kept_{i}": array.copy() for i, array in enumerate(self._kept)}
        counts = np.array([self.n_validations, self.n_since_best])
        return {"best": np.array(self.best), "counts": counts, **kept}

    def set_state(self, state: Mapping[str, Array]) -> None:
        self.best = float(state["best"])
        # Files of an early release have a third count, of when to validate next.
        self.n_validations, self.n_since_best = (int(count) for count in state["counts"][:2])
        self._kept = [state[f"kept_{i}"].copy() for i in range(len(state) - 2)]


def _checksum(arrays: Sequence[Array]) -> int:
    checksum = 0
    for array in arrays:
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return checksum
