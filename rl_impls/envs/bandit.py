"""Two slot machines, one of them rigged in the player's favour; an episode is one pull.

A pull pays +1 or -1. There is one state, and nothing to see in it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from rl_impls.envs.batch import ModelVectorEnv
from rl_impls.envs.model import DRAWS, Actions, Draws, Flags, Rewards, States
from rl_impls.envs.single import ModelEnv
from rl_impls.errors import SettingError

N_ARMS: Final = 2
BOTH: Final = (0, 1)
CHANCES: Final = (0.1, 0.9)


class BanditTables(NamedTuple):
    """A draw below an arm's limit pays."""

    limit_0: int
    limit_1: int


class TwoArmedBandit:
    """The rules; `chances` are the probabilities that arm 0 and arm 1 pay."""

    n_states = 1
    n_actions = N_ARMS

    def __init__(self, chances: tuple[float, float] = CHANCES) -> None:
        for chance in chances:
            if not 0.0 <= chance <= 1.0:
                raise SettingError(f"the chance of an arm lies between 0 and 1, not at {chance}.")
        limits = [round(chance * DRAWS) for chance in chances]
        self.tables = BanditTables(*limits)
        self.legal: list[tuple[int, ...]] = [BOTH]
        self.masks: Flags = np.ones((1, N_ARMS), np.bool_)

    def reset(self, draw: int) -> int:
        return 0

    def step(self, state: int, action: int, draw: int) -> tuple[int, float, bool]:
        return 0, 1.0 if draw < self.tables[action] else -1.0, True

    def reset_batch(self, draws: Draws) -> States:
        return np.zeros(len(draws), np.int64)

    def step_batch(
        self, states: States, actions: Actions, draws: Draws
    ) -> tuple[States, Rewards, Flags]:
        pays = draws < np.array(self.tables, np.int64)[actions]
        return (
            np.zeros_like(states),
            np.where(pays, 1.0, -1.0).astype(np.float32),
            np.ones(len(states), np.bool_),
        )


class TwoArmedBanditEnv(ModelEnv):
    """`gymnasium.make("TwoArmedBandit-v0")`."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self, chances: tuple[float, float] = CHANCES, render_mode: str | None = None
    ) -> None:
        super().__init__(TwoArmedBandit(chances), render_mode=render_mode)


class TwoArmedBanditVectorEnv(ModelVectorEnv):
    """`gymnasium.make_vec("TwoArmedBandit-v0", num_envs=n)`."""

    def __init__(self, num_envs: int = 1, chances: tuple[float, float] = CHANCES) -> None:
        super().__init__(TwoArmedBandit(chances), num_envs)
