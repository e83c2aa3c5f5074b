"""What the agents learn on short tasks: `make learn` compares the working tree with the last
commit. Under `make test` each trains once.
"""

from collections.abc import Callable
from dataclasses import asdict, replace

import pytest

import rl_impls
from rl_impls.agents.agent import DeepAgent
from rl_impls.agents.dqn import DQNSettings
from rl_impls.agents.ppo import PPOSettings
from rl_impls.agents.qr_dqn import QRDQNSettings
from rl_impls.agents.sac import SACSettings

CARTPOLE, PENDULUM = "rl_impls/CartPole-v1", "rl_impls/Pendulum-v1"
TAXI = "Taxi-v4"
EPISODES = 20
VALUES = DQNSettings(
    hidden=(64, 64),
    learning_rate=1e-3,
    buffer=50_000,
    batch=64,
    learning_starts=500,
    update_every=2,
    target_every=200,
    epsilon_over=4000,
)
Curve = list[tuple[int, float]]


def curve_of(
    make: Callable[[int], DeepAgent],
    seed: int,
    steps: int,
    legs: int = 4,
    episodes: int = EPISODES,
) -> Curve:
    """Train an agent, and let it play after each leg: each seed episodes of its own, or one choice
    of them would count for all seeds.
    """
    agent, curve = make(seed), []
    for leg in range(1, legs + 1):
        agent.learn(steps // legs)
        reached = rl_impls.evaluate(agent, episodes=episodes, seed=1000 + seed)
        curve.append((leg * steps // legs, reached))
    return curve


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        pytest.param(PPOSettings(learning_rate=1e-3, horizon=1024), 24_576, id="begins"),
        pytest.param(PPOSettings(learning_rate=3e-3, horizon=512), 40_960, id="balances"),
    ],
)
@pytest.mark.rlperf_learning(metric="area", threshold="7.5%", seeds=320)
def test_ppo_learns(rlperf_learning, settings, steps):
    settings = replace(settings, hidden=(64, 64))

    def train(seed: int) -> Curve:  # to play 20 episodes of 500 steps takes twice as long as this
        return curve_of(lambda s: rl_impls.PPO(CARTPOLE, settings, seed=s), seed, steps, episodes=8)

    rlperf_learning(train)


@pytest.mark.rlperf_learning(metric="area", seeds=240)
def test_dqn_learns(rlperf_learning):
    def train(seed: int) -> Curve:
        return curve_of(lambda s: rl_impls.DQN(CARTPOLE, VALUES, seed=s), seed, 12_000)

    rlperf_learning(train)


@pytest.mark.rlperf_learning(metric="area", seeds=240)
def test_qr_dqn_learns(rlperf_learning):
    settings = QRDQNSettings(**{**asdict(VALUES), "huber": 1.0, "double": False}, n_quantiles=10)

    def train(seed: int) -> Curve:
        return curve_of(lambda s: rl_impls.QRDQN(CARTPOLE, settings, seed=s), seed, 12_000)

    rlperf_learning(train)


@pytest.mark.rlperf_learning(metric="area", worst=-1600, seeds=80)
def test_sac_learns(rlperf_learning):
    settings = SACSettings(
        hidden=(64, 64), learning_rate=2e-3, buffer=50_000, batch=64, learning_starts=500, tau=0.01
    )

    def train(seed: int) -> Curve:
        return curve_of(lambda s: rl_impls.SAC(PENDULUM, settings, seed=s), seed, 3000)

    rlperf_learning(train)


@pytest.mark.parametrize("learner", ["compiled", "list"])
@pytest.mark.rlperf_learning(metric="area", seeds=40)
def test_a_table_learns(rlperf_learning, learner):
    def train(seed: int) -> Curve:
        curve = []
        for steps in (2_000, 5_000, 10_000, 20_000):
            table = rl_impls.train("TicTacToe-v0", learner, steps=steps, seed=seed)
            curve.append((steps, rl_impls.evaluate(table, "TicTacToe-v0", 500, seed=1000 + seed)))
        return curve

    rlperf_learning(train)


@pytest.mark.rlperf_learning(metric="area", worst=-200, seeds=40)
def test_taxi_is_learned(rlperf_learning):
    def train(seed: int) -> Curve:
        curve = []
        for steps in (30_000, 60_000):
            table = rl_impls.train(TAXI, "compiled", steps=steps, seed=seed)
            curve.append((steps, rl_impls.evaluate(table, TAXI, 100, seed=1000 + seed)))
        return curve

    rlperf_learning(train)
