"""What came of one training, and on which episodes both sides are judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rl_impls.agents.agent import Plays
from rl_impls.agents.evaluation import evaluate

N_VALIDATIONS: Final = 10
VALIDATION_EPISODES: Final = 10
EPISODES: Final = 50  # of the last evaluation of a deep agent
TABLE_EPISODES: Final = 500
VALIDATION_SEED, EVALUATION_SEED = 1_000_000_000, 2_000_000_000


@dataclass(frozen=True, slots=True)
class Played:
    """Greedy returns: of the policy that stood at the end, and of the best validated one.

    A table is not validated on the way: its last is its best.
    """

    final: float
    best: float
    seconds: float  # of CPU, of training alone


def validated(agent: Plays, env: str) -> float:
    return float(evaluate(agent, env, VALIDATION_EPISODES, seed=VALIDATION_SEED).mean())


def judged(agent: Plays, env: str) -> float:
    return float(evaluate(agent, env, EPISODES, seed=EVALUATION_SEED).mean())
