"""Deep agents: an update of each, a round of PPO, acting, and training end to end."""

from typing import Any

import numpy as np
import pytest

from rl_impls.agents.agent import shape_of, train
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.agents.qr_dqn import QRDQN, QRDQNSettings
from rl_impls.agents.rainbow import RainbowLite, RainbowLiteSettings
from rl_impls.agents.sac import SAC, SACSettings
from rl_impls.agents.td3 import TD3, TD3Settings
from rl_impls.envs.control.make import make_batch

pytestmark = pytest.mark.rlperf(category="rl")

CARTPOLE, PENDULUM = "rl_impls/CartPole-v1", "rl_impls/Pendulum-v1"
GYMNASIUM = "CartPole-v1"
N_ENVS = 8
N_ACTS = 300
# A replay of so many; learning never starts by itself.
FILLED: Any = {"buffer": 4096, "learning_starts": 10**9}
# With how many updates a call takes a few milliseconds.
LEARNERS: dict[str, tuple[Any, Any, str, int]] = {
    "dqn": (DQN, DQNSettings(**FILLED), CARTPOLE, 20),
    "qr-dqn": (QRDQN, QRDQNSettings(**FILLED), CARTPOLE, 10),
    "rainbow-lite": (RainbowLite, RainbowLiteSettings(**FILLED), CARTPOLE, 20),
    "sac": (SAC, SACSettings(**FILLED), PENDULUM, 2),
    "td3": (TD3, TD3Settings(**FILLED), PENDULUM, 2),
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


def ppo_and_env(env_name=CARTPOLE, horizon=2048, **settings):
    env = make_batch(env_name, N_ENVS, seed=0)
    return PPO(shape_of(env), PPOSettings(horizon=horizon, **settings), seed=0), env


def train_for(made, n_steps):
    agent, env = made
    train(agent, env, n_steps)
    return agent


@pytest.mark.parametrize("env_name", [CARTPOLE, GYMNASIUM], ids=["own", "gymnasium"])
@pytest.mark.rlperf(kpi="training_throughput")
def test_a_round_of_ppo(rlperf, env_name):
    agent = rlperf.measure(
        lambda made: train_for(made, 512), setup=lambda: ppo_and_env(env_name, 512), steps=512
    )
    assert agent.n_steps == 512
    assert np.isfinite(agent.losses).all()


@pytest.mark.parametrize("on_one_scale", [False, True], ids=["plain", "on_one_scale"])
@pytest.mark.rlperf(kpi="training_throughput")
def test_a_round_of_ppo_of_continuous_actions(rlperf, on_one_scale):
    changes = {"normalise_obs": on_one_scale, "normalise_rewards": on_one_scale}
    agent = rlperf.measure(
        lambda made: train_for(made, 512), setup=lambda: ppo_and_env(PENDULUM, 512, **changes),
        steps=512,
    )  # fmt: skip
    assert agent.n_steps == 512
    assert np.isfinite(agent.losses).all()


def act(agent, env, n):
    for _ in range(n):
        actions = agent.act(env.obs)
    return actions


def test_acting_in_all_environments(rlperf):
    agent, env = ppo_and_env()
    actions = rlperf.measure(lambda: act(agent, env, N_ACTS), steps=N_ACTS * N_ENVS)
    assert ((actions == 0) | (actions == 1)).all()


def dqn_and_env(env_name, kind=DQN):
    env = make_batch(env_name, 1, seed=0)
    settings = kind.settings_type(buffer=10_000, learning_starts=256)
    agent = kind(shape_of(env), settings, seed=0)
    train(agent, env, 256)
    return agent, env


@pytest.mark.parametrize("env_name", [CARTPOLE, GYMNASIUM], ids=["own", "gymnasium"])
@pytest.mark.rlperf(kpi="training_throughput")
def test_training_of_dqn_end_to_end(rlperf, env_name):
    agent = rlperf.measure(
        lambda made: train_for(made, 200), setup=lambda: dqn_and_env(env_name), steps=200
    )
    assert agent.n_steps == 456
    assert np.isfinite(agent.loss)


@pytest.mark.rlperf(kpi="training_throughput")
def test_training_of_a_rainbow_end_to_end(rlperf):
    agent = rlperf.measure(
        lambda made: train_for(made, 200), setup=lambda: dqn_and_env(CARTPOLE, RainbowLite),
        steps=200,
    )  # fmt: skip
    assert agent.n_steps == 456
    assert np.isfinite(agent.loss)


@pytest.mark.rlperf(memory=True, kpi=["memory_per_episode", "compilation"])
def test_an_episode_played_by_a_policy(rlperf):
    """A pendulum's episode always has 200 steps."""
    env = make_batch(PENDULUM, 1, seed=0)
    agent = SAC(shape_of(env), SACSettings(buffer=4096), seed=0)

    def episode(env):
        return sum(float(env.step(agent.greedy(env.obs)).r_t[0]) for _ in range(200))

    total = rlperf.measure(episode, setup=lambda: make_batch(PENDULUM, 1, seed=0), steps=200)
    assert -2000 < total < 0
