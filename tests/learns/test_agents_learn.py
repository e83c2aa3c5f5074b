"""What the agents learn on short tasks: `make learn` compares the working tree with the last
commit. Under `make test` each trains once.
"""

from dataclasses import asdict, replace

import pytest

import rl_impls
from rl_impls.agents.agent import DeepAgent, shape_of, train
from rl_impls.agents.dqn import DQNSettings
from rl_impls.agents.ppo import PPOSettings
from rl_impls.agents.qr_dqn import QRDQNSettings
from rl_impls.agents.sac import SACSettings
from rl_impls.envs.control.step import ControlBatch, Step
from tests.learns.doors import Doors

CARTPOLE, PENDULUM = "rl_impls/CartPole-v1", "rl_impls/Pendulum-v1"
TAXI = "Taxi-v4"
LEGS = 4
VALUES = DQNSettings(
    hidden=(64, 64),
    learning_rate=2e-3,
    buffer=50_000,
    batch=64,
    learning_starts=500,
    update_every=4,
    target_every=100,
    epsilon_over=3000,
)
Curve = list[tuple[int, float]]


class Earned:
    """Counts what an agent earns while it learns.

    That costs nothing, while to play 20 episodes of 500 steps takes as long as to learn from them;
    it holds all episodes of a leg; and exploring that never ends is seen nowhere else.
    """

    def __init__(self) -> None:
        self.rewards = 0.0
        self.episodes = 0

    def count(self, step: Step) -> None:
        self.rewards += float(step.r_t.sum())
        self.episodes += int((step.terminated | step.truncated).sum())

    @property
    def mean_return(self) -> float:
        return self.rewards / max(1, self.episodes)


def earned_by(agent: DeepAgent, env: ControlBatch | None, steps: int) -> Curve:
    """Train an agent, and tell what its own episodes came to in each leg."""
    assert env is not None
    curve = []
    for leg in range(1, LEGS + 1):
        earned = Earned()
        train(agent, env, steps // LEGS, tally=earned)
        curve.append((leg * steps // LEGS, earned.mean_return))
    return curve


def played_by(agent: DeepAgent, seed: int, steps: int, episodes: int) -> Curve:
    """Train an agent, and let it play after each leg: each seed episodes of its own, or one choice
    of them would count for all seeds.
    """
    curve = []
    for leg in range(1, LEGS + 1):
        agent.learn(steps // LEGS)
        reached = rl_impls.evaluate(agent, episodes=episodes, seed=1000 + seed)
        curve.append((leg * steps // LEGS, reached))
    return curve


@pytest.mark.rlperf_learning(metric="area", threshold="5%", seeds=320)
def test_ppo_plays_well(rlperf_learning):
    """How well it plays without exploring: what holds it back may help it while it learns."""
    settings = PPOSettings(hidden=(64, 64), learning_rate=1e-3, horizon=1024)

    def train_ppo(seed: int) -> Curve:
        return played_by(rl_impls.PPO(CARTPOLE, settings, seed=seed), seed, 24_576, episodes=8)

    rlperf_learning(train_ppo)


@pytest.mark.rlperf_learning(metric="area", seeds=160)
def test_ppo_learns(rlperf_learning):
    settings = PPOSettings(hidden=(64, 64), learning_rate=3e-3, horizon=512)

    def train_ppo(seed: int) -> Curve:
        agent = rl_impls.PPO(CARTPOLE, settings, seed=seed)
        return earned_by(agent, agent.env, 40_960)

    rlperf_learning(train_ppo)


@pytest.mark.rlperf_learning(metric="area", worst=0.5, threshold="5%", seeds=160)
def test_ppo_opens_doors(rlperf_learning):
    settings = PPOSettings(hidden=(32,), learning_rate=1e-3, horizon=256)

    def train_ppo(seed: int) -> Curve:
        env = Doors(8, seed)
        return earned_by(rl_impls.PPO(shape_of(env), settings, seed=seed), env, 16_384)

    rlperf_learning(train_ppo)


@pytest.mark.rlperf_learning(metric="area", worst=0.5, seeds=160)
def test_dqn_opens_doors(rlperf_learning):
    settings = replace(VALUES, hidden=(32,), batch=32, learning_starts=200, epsilon_over=1000)

    def train_dqn(seed: int) -> Curve:
        env = Doors(1, seed)
        return earned_by(rl_impls.DQN(shape_of(env), settings, seed=seed), env, 3000)

    rlperf_learning(train_dqn)


@pytest.mark.rlperf_learning(metric="area", seeds=240)
def test_dqn_learns(rlperf_learning):
    def train_dqn(seed: int) -> Curve:
        agent = rl_impls.DQN(CARTPOLE, VALUES, seed=seed)
        return earned_by(agent, agent.env, 6000)

    rlperf_learning(train_dqn)


@pytest.mark.rlperf_learning(metric="area", seeds=240)
def test_qr_dqn_learns(rlperf_learning):
    faster = {"learning_rate": 3e-3, "update_every": 2, "epsilon_over": 2000}
    other = {"huber": 1.0, "double": False, **faster}
    settings = QRDQNSettings(**{**asdict(VALUES), **other}, n_quantiles=10)

    def train_qr_dqn(seed: int) -> Curve:
        agent = rl_impls.QRDQN(CARTPOLE, settings, seed=seed)
        return earned_by(agent, agent.env, 5000)

    rlperf_learning(train_qr_dqn)


@pytest.mark.rlperf_learning(metric="area", worst=-1600, seeds=80)
def test_sac_learns(rlperf_learning):
    settings = SACSettings(
        hidden=(64, 64), learning_rate=2e-3, buffer=50_000, batch=64, learning_starts=500, tau=0.01
    )

    def train_sac(seed: int) -> Curve:
        return played_by(rl_impls.SAC(PENDULUM, settings, seed=seed), seed, 3000, episodes=20)

    rlperf_learning(train_sac)


@pytest.mark.parametrize(
    ("learner", "legs", "episodes"),
    [  # The compiled one learns a hundred times as fast: what it loses late is seen, too.
        pytest.param("compiled", (5_000, 20_000, 100_000), 1000, id="compiled"),
        pytest.param("list", (2_000, 5_000, 10_000, 20_000), 500, id="list"),
    ],
)
@pytest.mark.rlperf_learning(metric="area", threshold="5%", seeds=80)
def test_a_table_learns(rlperf_learning, learner, legs, episodes):
    def train_table(seed: int) -> Curve:
        curve = []
        for steps in legs:
            table = rl_impls.train("TicTacToe-v0", learner, steps=steps, seed=seed)
            reached = rl_impls.evaluate(table, "TicTacToe-v0", episodes, seed=1000 + seed)
            curve.append((steps, reached))
        return curve

    rlperf_learning(train_table)


@pytest.mark.rlperf_learning(metric="area", worst=-200, seeds=40)
def test_taxi_is_learned(rlperf_learning):
    """There are no compiled rules of it, so it is learned on lists, step by step."""

    def train_table(seed: int) -> Curve:
        curve = []
        for steps in (30_000, 60_000):
            table = rl_impls.train(TAXI, "compiled", steps=steps, seed=seed)
            curve.append((steps, rl_impls.evaluate(table, TAXI, 100, seed=1000 + seed)))
        return curve

    rlperf_learning(train_table)
