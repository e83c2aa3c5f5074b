"""How well a table plays: greedily, on its own stream of chance, without learning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rl_impls.envs.model import DRAWS, Model
from rl_impls.envs.tabular import TabularEnv
from rl_impls.tabular.learner import QLearner


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Episodes played to their end; a win is a return above 0, a loss one below."""

    episodes: int
    steps: int
    wins: int
    losses: int
    mean_return: float

    @property
    def win_rate(self) -> float:
        return self.wins / self.episodes

    @property
    def loss_rate(self) -> float:
        return self.losses / self.episodes


def evaluate(learner: QLearner, env: TabularEnv, episodes: int, *, seed: int = 0) -> Evaluation:
    """Play `episodes` from their start; all at once where the environment has a model.

    Only an environment without a model is played, and reset; hand over one that is not trained on.
    """
    if env.model is not None:
        return _play_model(learner, env.model, episodes, np.random.default_rng(seed))
    returns, steps = [], 0
    for _ in range(episodes):
        state, legal = env.reset()
        total = 0.0
        while env.running:
            state, reward, _, _, legal = env.step(learner.greedy(state, legal))
            total += reward
            steps += 1
        returns.append(total)
    return _summary(np.array(returns), steps)


def _play_model(
    learner: QLearner, model: Model, episodes: int, rng: np.random.Generator
) -> Evaluation:
    policy = np.where(model.masks, learner.table(), -np.inf).argmax(axis=1)
    returns = np.zeros(episodes)
    running = np.arange(episodes)
    states = model.reset_batch(rng.integers(DRAWS, size=episodes, dtype=np.uint32))
    steps = 0
    while len(running):
        draws = rng.integers(DRAWS, size=len(running), dtype=np.uint32)
        states, rewards, terminated = model.step_batch(states, policy[states], draws)
        returns[running] += rewards
        steps += len(running)
        running, states = running[~terminated], states[~terminated]
    return _summary(returns, steps)


def _summary(returns: np.ndarray[tuple[int], np.dtype[np.float64]], steps: int) -> Evaluation:
    return Evaluation(
        episodes=len(returns),
        steps=steps,
        wins=int((returns > 0).sum()),
        losses=int((returns < 0).sum()),
        mean_return=float(returns.mean()),
    )
