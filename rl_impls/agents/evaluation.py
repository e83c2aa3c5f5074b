"""How good an agent is, on environments of its own and without exploration."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rl_impls.agents.agent import DeepAgent, Plays
from rl_impls.agents.settings import at_least
from rl_impls.envs.control.make import make_batch


def evaluate(
    agent: Plays, env_name: str, episodes: int = 100, *, seed: int = 0, **arguments: Any
) -> NDArray[np.float64]:
    """The return of each of `episodes` greedy episodes, undiscounted.

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
