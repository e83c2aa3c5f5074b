"""What an environment with few states is: pure functions of a state, an action and chance.

Chance is a *draw*: 32 random bits, handed in by the caller. So one set of rules serves the single
environment, the batched one and compiled code, and equal draws give equal games in all three.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

DRAW_BITS: Final = 32
DRAWS: Final = 1 << DRAW_BITS

States = NDArray[np.int64]
Actions = NDArray[np.int64]
Draws = NDArray[np.uint32]
Rewards = NDArray[np.float32]
Flags = NDArray[np.bool_]


class Model(Protocol):
    """The rules of an environment. No method checks whether an action is legal."""

    n_states: int
    n_actions: int
    # For each state the actions that may be taken there; none once the episode has ended.
    legal: list[tuple[int, ...]]
    masks: Flags  # (n_states, n_actions): the same as an array
    # A NamedTuple of arrays and numbers, for which envs.compiled has the rules; or None.
    tables: Any

    def reset(self, draw: int) -> int:
        """The first state of an episode."""

    def step(self, state: int, action: int, draw: int) -> tuple[int, float, bool]:
        """The next state, the reward, and whether the episode terminated."""

    def reset_batch(self, draws: Draws) -> States:
        """`reset` for each draw."""

    def step_batch(
        self, states: States, actions: Actions, draws: Draws
    ) -> tuple[States, Rewards, Flags]:
        """`step` for each row."""
