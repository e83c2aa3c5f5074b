"""Tic-tac-toe and a bandit with two arms, as models."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.model import (
    DRAWS,
    Actions,
    Draws,
    Flags,
    ModelEnv,
    ModelVectorEnv,
    Rewards,
    States,
)
from rl_impls.errors import SettingError

# Tic-tac-toe against an opponent that plays at random; a coin decides who opens.
#
# A state is the board read as a number in base 3: cell i counts 3**i times 0 (empty), 1 (the
# agent's) or 2 (the opponent's). A step is the agent's move and the opponent's reply. A won game
# pays +1, a lost one -1, a draw 0.

N_CELLS: Final = 9
N_STATES: Final = 3**N_CELLS
POWERS: Final[tuple[int, ...]] = tuple(3**cell for cell in range(N_CELLS))
LINES: Final = (
    (0, 1, 2),
    (3, 4, 5),
    (6, 7, 8),
    (0, 3, 6),
    (1, 4, 7),
    (2, 5, 8),
    (0, 4, 8),
    (2, 4, 6),
)

AGENT: Final = 1
OPPONENT: Final = 2
# How a board stands; a winner's code is the winner.
GOES_ON: Final = 0
DRAWN: Final = 3
# A board needs 15 of the 16 bits of a reply; the sign is left.
ENDS: Final = -0x8000
BOARD: Final = 0x7FFF
REWARDS: Final = (0.0, 1.0, -1.0, 0.0)


class TicTacToeTables(NamedTuple):
    """Tables that the rules look up by state."""

    standing: NDArray[np.uint8]  # (n_states,): GOES_ON, AGENT, OPPONENT or DRAWN
    n_empty: NDArray[np.uint8]  # (n_states,)
    # (n_states * 9,): the board after each reply, to the empty cells in order, or the board itself
    # where the game is over; with ENDS where it is over then. One look leads to the next state.
    replies: NDArray[np.int16]
    powers: NDArray[np.int64]  # (9,)


@cache
def build_tables() -> TicTacToeTables:
    powers = np.array(POWERS, np.int64)
    boards = np.arange(N_STATES)[:, None] // powers % 3
    filled = boards[:, LINES]
    standing = np.full(N_STATES, GOES_ON, np.uint8)
    standing[(boards != 0).all(axis=1)] = DRAWN
    for player in (OPPONENT, AGENT):
        standing[(filled == player).all(axis=2).any(axis=1)] = player
    # A stable sort by "taken" puts the empty cells first and keeps their order.
    empty = np.argsort(boards != 0, axis=1, kind="stable")
    n_empty = (boards == 0).sum(axis=1).astype(np.uint8)
    played = (standing == GOES_ON)[:, None] & (np.arange(N_CELLS) < n_empty[:, None])
    after = np.arange(N_STATES)[:, None] + np.where(played, OPPONENT * powers[empty], 0)
    replies = np.where(standing[after] == GOES_ON, after, after | ENDS).astype(np.int16).ravel()
    return TicTacToeTables(standing, n_empty, replies, powers)


class TicTacToe:
    """The rules of tic-tac-toe."""

    n_states = N_STATES
    n_actions = N_CELLS

    def __init__(self) -> None:
        self.tables = build_tables()
        goes_on = self.tables.standing == GOES_ON
        self.masks: Flags = (np.arange(N_STATES)[:, None] // self.tables.powers % 3 == 0) & (
            goes_on[:, None]
        )
        self.legal = _legal_cells(self.masks)
        self._standing = self.tables.standing.tobytes()  # indexing bytes beats indexing an array

    def reset(self, draw: int) -> int:
        """Return the first board: the top bit is the coin, the other 31 choose the opponent's
        opening."""
        if draw >> 31 == 0:
            return 0
        return OPPONENT * POWERS[(draw & 0x7FFFFFFF) * N_CELLS >> 31]

    def step(self, state: int, action: int, draw: int) -> tuple[int, float, bool]:
        state += POWERS[action]
        standing = self._standing[state]
        if standing == GOES_ON:
            cells = self.legal[state]
            state += OPPONENT * POWERS[cells[draw * len(cells) >> 32]]
            standing = self._standing[state]
        return state, REWARDS[standing], standing != GOES_ON

    def reset_batch(self, draws: Draws) -> States:
        wide = draws.astype(np.int64)
        openings = self.tables.powers[(wide & 0x7FFFFFFF) * N_CELLS >> 31]
        return np.where(wide >> 31 == 0, 0, OPPONENT * openings)

    def step_batch(
        self, states: States, actions: Actions, draws: Draws
    ) -> tuple[States, Rewards, Flags]:
        standing, n_empty, replies, powers = self.tables
        after = states + powers[actions]
        choice = draws.astype(np.int64) * n_empty[after] >> 32
        s_t = replies[after * N_CELLS + choice].astype(np.int64) & BOARD
        ended = standing[s_t]
        return s_t, np.array(REWARDS, np.float32)[ended], ended != GOES_ON


def _legal_cells(masks: Flags) -> list[tuple[int, ...]]:
    """Return the legal cells of every board; boards with the same ones share one tuple."""
    shared: dict[bytes, tuple[int, ...]] = {}
    legal = []
    for mask in masks:
        key = mask.tobytes()
        if key not in shared:
            shared[key] = tuple(np.flatnonzero(mask).tolist())
        legal.append(shared[key])
    return legal


@cache
def rules() -> TicTacToe:
    """Return the rules, which hold no state: one copy is enough for a process."""
    return TicTacToe()


class TicTacToeEnv(ModelEnv):
    """`gymnasium.make("TicTacToe-v0")`."""

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(rules(), render_mode=render_mode)

    def render(self) -> str:
        return render_board(self.state)


class TicTacToeVectorEnv(ModelVectorEnv):
    """`gymnasium.make_vec("TicTacToe-v0", num_envs=n)`."""

    def __init__(self, num_envs: int = 1) -> None:
        super().__init__(rules(), num_envs)


def render_board(state: int) -> str:
    """Return the board in three lines: X is the agent, O the opponent."""
    marks = [".XO"[state // power % 3] for power in POWERS]
    return "\n".join(" ".join(marks[row : row + 3]) for row in (0, 3, 6))


# Two slot machines, one of them rigged in the player's favour; an episode is one pull.
#
# A pull pays +1 or -1. There is one state, and nothing to see in it.


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
