"""How much work a contestant does: enough to be told apart, or just enough to see that it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sizes:
    ppo_steps: int
    dqn_steps: int
    dqn_updates: int
    sac_updates: int
    samples: int
    n_stored: int  # transitions in the replay that is sampled from
    n_prioritised: int
    n_validations: int
    episodes: int  # of the last evaluation


SIZES: Final = {
    "full": Sizes(
        ppo_steps=102_400, dqn_steps=50_000, dqn_updates=2000, sac_updates=300, samples=5000,
        n_stored=100_000, n_prioritised=1_000_000, n_validations=20, episodes=100,
    ),
    "tiny": Sizes(
        ppo_steps=2048, dqn_steps=1100, dqn_updates=5, sac_updates=2, samples=10,
        n_stored=1000, n_prioritised=1000, n_validations=2, episodes=5,
    ),
}  # fmt: skip
