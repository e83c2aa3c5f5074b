"""Deep agents: an update of each, a round of PPO, acting, and training end to end."""

from typing import Any

import numpy as np
import pytest

from rl_impls.agents.agent import shape_of
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.agents.qr_dqn import QRDQN, QRDQNSettings
from rl_impls.agents.sac import SAC, SACSettings
from rl_impls.agents.training import train
from rl_impls.envs.control.make import make_batch

pytestmark = pytest.mark.rlperf(category="agents")

CARTPOLE, PENDULUM = "rl_impls/CartPole-v1", "rl_impls/Pendulum-v1"
N_ENVS = 8
N_ACTS = 300
# A replay of so many; learning never starts by itself.
FILLED: Any = {"buffer": 4096, "learning_starts": 10**9}
# With how many updates a call takes a few milliseconds.
LEARNERS: dict[str, tuple[Any, Any, str, int]] = {
    "dqn": (DQN, DQNSettings(**FILLED), CARTPOLE, 20),
    "qr-dqn": (QRDQN, QRDQNSettings(**FILLED), CARTPOLE, 10),
    "sac": (SAC, SACSettings(**FILLED), PENDULUM, 2),
}


def filled(name):
    kind, settings, env_name, _ = LEARNERS[name]
    env = make_batch(env_name, N_ENVS, seed=0)
    agent = kind(shape_of(env), settings, seed=0)
    train(agent, env, 4096)
    return agent


def update(agent, n):
    for _ in range(n):
        agent.update()
    return agent


@pytest.mark.parametrize("name", LEARNERS)
def test_updates_from_a_replay(rlperf, name):
    n = LEARNERS[name][3]
    before = filled(name).parameters()[0]
    agent = rlperf.measure(lambda agent: update(agent, n), setup=lambda: filled(name), steps=n)
    after = agent.parameters()[0]
    assert np.isfinite(after).all()
    assert not np.array_equal(before, after)


def ppo_and_env(horizon=2048):
    env = make_batch(CARTPOLE, N_ENVS, seed=0)
    return PPO(shape_of(env), PPOSettings(horizon=horizon), seed=0), env


def train_for(made, n_steps):
    agent, env = made
    train(agent, env, n_steps)
    return agent


def test_a_round_of_ppo(rlperf):
    agent = rlperf.measure(
        lambda made: train_for(made, 2048), setup=ppo_and_env, steps=2048
    )  # fmt: skip
    assert agent.n_steps == 2048
    assert np.isfinite(agent.losses).all()


def act(agent, env, n):
    for _ in range(n):
        actions = agent.act(env.obs)
    return actions


def test_acting_in_all_environments(rlperf):
    agent, env = ppo_and_env()
    actions = rlperf.measure(lambda: act(agent, env, N_ACTS), steps=N_ACTS * N_ENVS)
    assert ((actions == 0) | (actions == 1)).all()


def dqn_and_env():
    env = make_batch(CARTPOLE, 1, seed=0)
    agent = DQN(shape_of(env), DQNSettings(buffer=10_000, learning_starts=256), seed=0)
    train(agent, env, 256)
    return agent, env


def test_training_of_dqn_end_to_end(rlperf):
    agent = rlperf.measure(lambda made: train_for(made, 200), setup=dqn_and_env, steps=200)
    assert agent.n_steps == 456
    assert np.isfinite(agent.loss)
