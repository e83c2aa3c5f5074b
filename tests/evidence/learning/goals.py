"""What every agent shall reach, set before any of it was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Goal:
    agent: str
    env: str
    steps: int
    mean_return: float  # at least


@dataclass(frozen=True, slots=True)
class Training:
    goal: Goal
    seed: int


CARTPOLE: Final = "rl_impls/CartPole-v1"
GOALS: Final = (
    Goal("ppo", CARTPOLE, 150_000, 475.0),
    Goal("dqn", CARTPOLE, 100_000, 475.0),
    Goal("qr-dqn", CARTPOLE, 100_000, 475.0),
    Goal("sac", "rl_impls/Pendulum-v1", 20_000, -200.0),
)
SEEDS: Final = (0, 1, 2)


def trainings() -> list[Training]:
    """Seed by seed: whoever stops early has seen every agent."""
    return [Training(goal, seed) for seed in SEEDS for goal in GOALS]
