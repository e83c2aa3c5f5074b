"""Who is compared with whom, and what is wanted of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Row:
    """`wanted` bounds ours / theirs from below; None: it is only told.

    Where `theirs` is None, both sides are measured in the process of `ours`.
    """

    name: str
    ours: str
    theirs: str | None
    unit: str
    wanted: float | None = None


# At most three times uniform sampling's time is at least a third of its rate.
THIRD: Final = 1 / 3
ROWS: Final = (
    Row("PPO, Gymnasium's CartPole", "ppo, gymnasium", "sb3 ppo", "steps/s", 3),
    Row("PPO, our CartPole", "ppo", "sb3 ppo", "steps/s", 6),
    Row("DQN, Gymnasium's CartPole", "dqn, gymnasium", "sb3 dqn", "steps/s", 3),
    Row("DQN, our CartPole", "dqn", "sb3 dqn", "steps/s", 6),
    Row("updates of DQN, 256, 64 × 64", "dqn updates", "sb3 dqn updates", "1/s", 5),
    Row("updates of SAC, 256, 256 × 256", "sac updates", "sb3 sac updates", "1/s", 1.5),
    Row("`sample(32)` of 100,000", "sample 32", "sb3 sample 32", "1/s", 15),
    Row("`sample(256)` of 100,000", "sample 256", "sb3 sample 256", "1/s"),
    Row("prioritised 32 of 1 M, beside uniform", "prioritised 32", None, "1/s", THIRD),
    Row("prioritised 256 of 1 M, beside uniform", "prioritised 256", None, "1/s", THIRD),
    Row("CartPole, compiled, beside Gymnasium's", "cartpole", "gymnasium cartpole", "steps/s", 100),
)  # fmt: skip


def contestants() -> list[str]:
    """Everybody once: a row may share its other side with another."""
    names = (name for row in ROWS for name in (row.ours, row.theirs) if name is not None)
    return list(dict.fromkeys(names))
