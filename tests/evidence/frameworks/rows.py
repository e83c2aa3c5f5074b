"""Who is compared with whom: the first of a section is what the others are measured by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Side of the matrices that a function of JAX is compiled and called with.
JAX_SIDES: Final = (64, 256, 1024)


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    unit: str
    names: tuple[str, ...]


SECTIONS: Final = (
    Section(
        "Updates of DQN, 256 rows, 64 × 64 units", "1/s", ("dqn numpy", "dqn torch", "dqn jax")
    ),
    Section(
        "Updates of DQN, 256 rows, 256 × 256 units",
        "1/s",
        ("wide dqn numpy", "wide dqn torch", "wide dqn jax"),
    ),
    Section(
        "Updates of PPO, 256 rows, 64 × 64 units", "1/s", ("ppo numpy", "ppo torch", "ppo jax")
    ),
    Section(
        "torch, eager and compiled, float32 and bfloat16: DQN, 64 × 64 units",
        "1/s",
        ("dqn torch", "dqn torch compiled", "dqn torch mixed"),
    ),
    Section(
        "torch, eager and compiled, float32 and bfloat16: DQN, 256 × 256 units",
        "1/s",
        ("wide dqn torch", "wide dqn torch compiled", "wide dqn torch mixed"),
    ),
    Section(
        "torch, eager and compiled, float32 and bfloat16: 32 stacks of 4 frames",
        "1/s",
        ("pixels", "pixels compiled", "pixels mixed", "pixels compiled mixed"),
    ),
    Section(
        "tanh(x x) of JAX by the side of x",
        "calls/s",
        tuple(f"jax {side}" for side in JAX_SIDES),
    ),
    Section("PPO on CartPole, trained end to end", "steps/s", ("cartpole ours", "cartpole jitted")),
)


def contestants() -> list[str]:
    return [*dict.fromkeys(name for section in SECTIONS for name in section.names)]
