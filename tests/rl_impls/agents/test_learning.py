"""Every agent learns: in seconds what `tests.evidence.learning` shows in hours."""

from dataclasses import dataclass

import pytest

from rl_impls.agents.agent import AgentSettings, shape_of
from rl_impls.agents.dqn import DQNSettings
from rl_impls.agents.evaluation import BestCheckpoint, evaluate
from rl_impls.agents.ppo import PPOSettings
from rl_impls.agents.qr_dqn import QRDQNSettings
from rl_impls.agents.rainbow import RainbowLiteSettings
from rl_impls.agents.sac import SACSettings
from rl_impls.agents.td3 import TD3Settings
from rl_impls.envs.control.make import make_batch
from rl_impls.registry import make_agent
from rl_impls.runtimes import Every, run
from rl_impls.runtimes.deep import DeepRuntime, Validate

# Of the way from what the untrained agent gets to a goal that is for more steps.
SHARE = 1 / 3
N_VALIDATIONS = 10
CARTPOLE, PENDULUM = "rl_impls/CartPole-v1", "rl_impls/Pendulum-v1"
GOALS = {CARTPOLE: 475.0, PENDULUM: -200.0}


@dataclass(frozen=True)
class Short:
    env: str
    settings: AgentSettings
    n_envs: int
    steps: int


# Smaller and quicker than the presets, which need more time for the same.
SHORT = {
    "ppo": Short(CARTPOLE, PPOSettings(learning_rate=1e-3), 8, 30_000),
    "ppo of points": Short(
        PENDULUM,
        PPOSettings(
            horizon=2048, learning_rate=1e-3, discount=0.9, minibatch=64, entropy_weight=0.0
        ),
        4,
        40_000,
    ),
    "dqn": Short(
        CARTPOLE,
        DQNSettings(learning_rate=3e-4, target_every=1000, epsilon_over=5000, huber=100.0),
        1,
        20_000,
    ),
    "qr-dqn": Short(
        CARTPOLE,
        QRDQNSettings(learning_rate=1e-3, target_every=250, epsilon_over=5000, n_quantiles=20),
        1,
        20_000,
    ),
    "rainbow-lite": Short(
        CARTPOLE,
        RainbowLiteSettings(
            learning_rate=3e-4, target_every=1000, epsilon_over=5000, huber=100.0, beta_over=20_000
        ),
        1,
        20_000,
    ),
    "sac": Short(
        PENDULUM,
        SACSettings(hidden=(64, 64), learning_rate=1e-3, batch=128, learning_starts=500),
        1,
        6000,
    ),
    "td3": Short(
        PENDULUM,
        TD3Settings(hidden=(64, 64), learning_rate=1e-3, batch=128, learning_starts=500),
        1,
        8000,
    ),
}


def mean_return(agent, env_name, seed):
    return evaluate(agent, env_name, 50, seed=seed).mean()


@pytest.mark.parametrize("agent_name", SHORT)
def test_an_agent_comes_a_third_of_the_way_to_its_goal_within_seconds(agent_name):
    short = SHORT[agent_name]
    env = make_batch(short.env, short.n_envs, seed=0)
    agent = make_agent(shape_of(env), short.settings, seed=0)
    untrained = mean_return(agent, short.env, seed=2)
    best = BestCheckpoint(lambda agent: mean_return(agent, short.env, seed=1), patience=10)
    validate = Validate(Every(short.steps // N_VALIDATIONS), best)
    run(DeepRuntime(agent, env), short.steps, hooks=[validate])
    best.restore_best(agent)
    wanted = untrained + SHARE * (GOALS[short.env] - untrained)
    trained = mean_return(agent, short.env, seed=2)
    assert trained >= wanted, f"{untrained:.0f} untrained, {trained:.0f} trained"
