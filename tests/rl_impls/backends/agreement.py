"""Agents of equal seed and experience, whatever their updates are computed with."""

from typing import Any

import numpy as np
import pytest

from rl_impls.agents.agent import Shape
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.envs.control.step import Step

DQN_SETTINGS = DQNSettings(hidden=(32, 32), batch=64, buffer=1000, learning_rate=1e-3)
# 25 updates a round, of which the last of each epoch has 16 rows only.
PPO_SETTINGS = PPOSettings(hidden=(32, 32), horizon=272, minibatch=64, n_epochs=5)
N_ENVS = 8


def need(name: str) -> Any:
    """The framework, or a skip that says how to get it."""
    found = pytest.importorskip(
        name, reason=f"{name} is not installed: pip install 'pytest-rlperf[{name}]'"
    )
    if name == "torch":
        found.set_num_threads(1)  # a pool that waits for a core another test has is slower
    return found


def filled_dqn(kind: type[DQN], settings: DQNSettings = DQN_SETTINGS, **options: Any) -> DQN:
    """With 1000 transitions to learn from."""
    agent = kind(Shape(1, 4, 3), settings, seed=3, **options)
    rng = np.random.default_rng(1)
    for _ in range(settings.buffer):
        obs_tm1, obs_t = rng.standard_normal((2, 4)).astype(np.float32)
        agent.replay.add(
            obs_tm1, int(rng.integers(3)), float(rng.normal()), obs_t, bool(rng.random() < 0.2)
        )
    return agent


def updated_dqn(agent: DQN, n_updates: int = 100) -> DQN:
    """The target follows halfway through."""
    for n in range(n_updates):
        agent.update()
        if n == n_updates // 2:
            agent._follow()
    return agent


def played_ppo(
    kind: type[PPO], settings: PPOSettings = PPO_SETTINGS, n_rounds: int = 4, **options: Any
) -> PPO:
    """25 updates a round. What is seen does not depend on what is done: whoever chooses another
    action in a close case has seen the same."""
    agent = kind(Shape(N_ENVS, 4, 2), settings, seed=3, **options)
    rng = np.random.default_rng(2)
    obs = rng.standard_normal((N_ENVS, 4)).astype(np.float32)
    for _ in range(n_rounds * settings.horizon // N_ENVS):
        agent.act(obs)
        agent._rollout.actions[agent._rollout.t] = rng.integers(2, size=N_ENVS)
        agent._rollout.log_probs[agent._rollout.t] = np.log(0.5)
        following = rng.standard_normal((N_ENVS, 4)).astype(np.float32)
        terminated, truncated = rng.random((2, N_ENVS)) < 0.05
        r_t = rng.standard_normal(N_ENVS).astype(np.float32)
        agent.observe(Step(following, r_t, terminated, truncated, following, obs))
        obs = following
    return agent


def furthest(one: Any, other: Any) -> float:
    """The largest difference between two parameters."""
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return max(float(np.abs(mine - theirs).max()) for mine, theirs in pairs)
