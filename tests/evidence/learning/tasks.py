"""The tasks, with the settings that both sides have; nothing here was tuned on what it measures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, cast

from rl_impls.agents.agent import AgentSettings
from rl_impls.agents.dqn import DQNSettings
from rl_impls.agents.ppo import PPOSettings
from rl_impls.agents.qr_dqn import QRDQNSettings
from rl_impls.agents.rainbow import RainbowLiteSettings
from rl_impls.agents.sac import SACSettings
from rl_impls.agents.td3 import TD3Settings
from rl_impls.registry import preset_for

OURS, SB3, TEXTBOOK = "rl_impls", "stable-baselines3", "textbook"
SEEDS: Final = tuple(range(10))


@dataclass(frozen=True, slots=True)
class Task:
    """A training that each side makes once a seed.

    `floor` and `goal` scale its returns where tasks are joined: about what chance gets, and what
    solves it. `wanted` is what every preset shall reach, set before any of it was measured.
    """

    agent: str
    env: str
    steps: int
    floor: float
    goal: float
    settings: AgentSettings | None = None  # a table has its defaults
    n_envs: int = 1
    sides: tuple[str, ...] = (OURS, SB3)
    note: str = ""  # tells two tasks of an agent and an environment apart
    wanted: float | None = None

    @property
    def name(self) -> str:
        return " ".join(part for part in (self.agent, self.env, self.note) if part)

    @property
    def is_table(self) -> bool:
        return self.settings is None

    @property
    def needs(self) -> str | None:
        """The module of an extra that its environment needs, which not everybody has."""
        return "Box2D" if self.env.startswith("LunarLander") else None


def table(env: str, steps: int, floor: float, goal: float, learner: str = "compiled") -> Task:
    return Task(learner, env, steps, floor, goal, sides=(OURS, TEXTBOOK))


PPO: Final = PPOSettings()
# rl-zoo3's rate and batch for Acrobot, in smaller networks. Stable-Baselines3's DQN is not double,
# and its Huber loss cannot be set.
DQN: Final = DQNSettings(
    hidden=(64, 64), learning_rate=6.3e-4, buffer=50_000, batch=128, learning_starts=1000,
    update_every=4, n_updates=2, target_every=250, epsilon_over=6000, epsilon_end=0.1,
    huber=1.0, double=False,
)  # fmt: skip
QR_DQN: Final = QRDQNSettings(
    hidden=(64, 64), learning_rate=6.3e-4, buffer=50_000, batch=128, learning_starts=1000,
    update_every=4, n_updates=2, target_every=250, epsilon_over=6000, epsilon_end=0.1,
    n_quantiles=25,
)  # fmt: skip
# The actor of Stable-Baselines3 learns at every update of the critics.
SAC: Final = SACSettings(hidden=(64, 64), learning_rate=1e-3, buffer=100_000, actor_every=1)
TD3: Final = TD3Settings(hidden=(64, 64), learning_rate=1e-3, buffer=100_000)
# The same as DQN; Stable-Baselines3 has returns of several steps, and neither the streams nor the
# priorities, nor double.
RAINBOW: Final = RainbowLiteSettings(
    hidden=(64, 64), learning_rate=6.3e-4, buffer=50_000, batch=128, learning_starts=1000,
    update_every=4, n_updates=2, target_every=250, epsilon_over=6000, epsilon_end=0.1,
    huber=1.0, beta_over=50_000,
)  # fmt: skip
PRESET_DQN: Final = cast(DQNSettings, preset_for("dqn", "CartPole-v1").settings)
PRESET_QR_DQN: Final = preset_for("qr-dqn", "CartPole-v1").settings
PRESET_PPO: Final = preset_for("ppo", "CartPole-v1").settings
PENDULUM_PPO: Final = cast(PPOSettings, preset_for("ppo", "Pendulum-v1").settings)
PRESET_SAC: Final = preset_for("sac", "Pendulum-v1").settings

CARTPOLE, ACROBOT, PENDULUM = "CartPole-v1", "Acrobot-v1", "Pendulum-v1"
OWN_CARTPOLE, OWN_PENDULUM = "rl_impls/CartPole-v1", "rl_impls/Pendulum-v1"
LANDER, LANDER_CONTINUOUS = "LunarLander-v3", "LunarLanderContinuous-v3"
TASKS: Final = (
    table("FrozenLake8x8-v1", 1_000_000, 0.0, 0.86),
    table("FrozenLake-v1", 200_000, 0.0, 0.74),
    table("Taxi-v4", 200_000, -200.0, 8.0),
    table("CliffWalking-v1", 50_000, -200.0, -13.0),
    table("Blackjack-v1", 500_000, -0.4, -0.045),
    Task("ppo", CARTPOLE, 102_400, 20.0, 500.0, PRESET_PPO, n_envs=8, wanted=475.0),
    Task("dqn", CARTPOLE, 50_000, 20.0, 500.0, replace(PRESET_DQN, double=False)),
    Task("qr-dqn", CARTPOLE, 50_000, 20.0, 500.0, PRESET_QR_DQN, wanted=475.0),
    Task("ppo", ACROBOT, 102_400, -500.0, -80.0, PPO, n_envs=8),
    Task("dqn", ACROBOT, 50_000, -500.0, -80.0, DQN),
    Task("qr-dqn", ACROBOT, 50_000, -500.0, -80.0, QR_DQN),
    Task("sac", PENDULUM, 5000, -1200.0, -150.0, SAC),
    Task("sac", "MountainCarContinuous-v0", 15_000, -30.0, 93.0, SAC),
    Task("ppo", LANDER, 200_000, -200.0, 200.0, PPO, n_envs=8),
    Task("dqn", LANDER, 100_000, -200.0, 200.0, replace(DQN, epsilon_over=12_000)),
    Task("qr-dqn", LANDER, 100_000, -200.0, 200.0, replace(QR_DQN, epsilon_over=12_000)),
    Task("sac", LANDER_CONTINUOUS, 30_000, -200.0, 200.0, replace(SAC, learning_rate=3e-4)),
    Task("ppo", PENDULUM, 61_440, -1200.0, -150.0, PENDULUM_PPO, n_envs=4),
    Task(
        "ppo",
        PENDULUM,
        61_440,
        -1200.0,
        -150.0,
        replace(PENDULUM_PPO, normalise_obs=True, normalise_rewards=True),
        n_envs=4,
        note="on one scale",
    ),
    Task("dqn", CARTPOLE, 50_000, 20.0, 500.0, replace(DQN, n_step=3), note="3 steps"),
    Task("rainbow-lite", CARTPOLE, 50_000, 20.0, 500.0, RAINBOW),
    Task("td3", PENDULUM, 10_000, -1200.0, -150.0, TD3),
    # As somebody trains who names the environment and nothing else.
    Task("dqn", OWN_CARTPOLE, 100_000, 20.0, 500.0, PRESET_DQN, sides=(OURS,), wanted=475.0),
    Task("sac", OWN_PENDULUM, 20_000, -1200.0, -150.0, PRESET_SAC, sides=(OURS,), wanted=-200.0),
)


def task_named(name: str) -> Task:
    return next(task for task in TASKS if task.name == name)
