"""The rules of the games once more, for compiled code: of tic-tac-toe and of the bandit.

Compiled code calls `reset_state` and `step_state` with a model's tables, and the type of the tables
chooses the rules while it compiles: no call goes through a pointer, and the result can be cached.
Rules are added with `rules_for`.

They follow the model's `reset` and `step` draw by draw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from rl_impls.envs.games import AGENT, BOARD, N_CELLS, OPPONENT, BanditTables, TicTacToeTables
from rl_impls.envs.model import Actions, Draws, Flags, Rewards, States
from rl_impls.jit import compiled

_RULES: dict[type, tuple[Callable[..., Any], Callable[..., Any]]] = {}


def rules_for(tables: type, reset: Callable[..., Any], step: Callable[..., Any]) -> None:
    """Register `reset(tables, draw)` and `step(tables, state, action, draw)`, in what numba can
    compile."""
    _RULES[tables] = (reset, step)


def has_rules(tables: object) -> bool:
    return type(tables) in _RULES


def reset_state(tables: Any, draw: Any) -> int:
    """Return the first state of an episode."""
    return int(_RULES[type(tables)][0](tables, draw))


def step_state(tables: Any, state: Any, action: Any, draw: Any) -> tuple[int, float, bool]:
    """Return the next state, the reward, and whether the episode terminated."""
    s_t, r_t, terminated = _RULES[type(tables)][1](tables, state, action, draw)
    return int(s_t), float(r_t), bool(terminated)


def _chosen(tables: types.Type, which: int) -> Callable[..., Any] | None:
    rules = _RULES.get(getattr(tables, "instance_class", type(None)))
    return None if rules is None else rules[which]


@overload(reset_state, strict=False)
def _reset_state(tables: types.Type, draw: types.Type) -> Callable[..., Any] | None:
    return _chosen(tables, 0)


@overload(step_state, strict=False)
def _step_state(
    tables: types.Type, state: types.Type, action: types.Type, draw: types.Type
) -> Callable[..., Any] | None:
    return _chosen(tables, 1)


def _reset_tictactoe(tables: Any, draw: Any) -> Any:
    if draw >> 31 == 0:
        return 0
    return OPPONENT * tables.powers[(draw & 0x7FFFFFFF) * N_CELLS >> 31]


def _step_tictactoe(tables: Any, state: Any, action: Any, draw: Any) -> Any:
    # Numbers without a sign need no look whether they count from the end.
    after = state + tables.powers[np.uint64(action)]
    # An action fills one cell: so many are left is known before the action is.
    choice = draw * (np.int64(tables.n_empty[np.uint64(state)]) - 1) >> 32
    reply = np.int64(tables.replies[np.uint64(after * N_CELLS + choice)])
    s_t = reply & BOARD
    standing = tables.standing[np.uint64(s_t)]
    return s_t, np.float32(standing == AGENT) - np.float32(standing == OPPONENT), reply < 0


def _reset_bandit(tables: Any, draw: Any) -> Any:
    return 0


def _step_bandit(tables: Any, state: Any, action: Any, draw: Any) -> Any:
    limit = tables.limit_1 if action == 1 else tables.limit_0
    return 0, np.float32(1.0 if draw < limit else -1.0), True


rules_for(TicTacToeTables, _reset_tictactoe, _step_tictactoe)
rules_for(BanditTables, _reset_bandit, _step_bandit)


@compiled
def step_rows(
    tables: Any,
    states: States,
    actions: Actions,
    draws: Draws,
    reset_draws: Draws,
    s_t: States,
    r_t: Rewards,
    terminated: Flags,
) -> tuple[int, float]:
    """Step every row; `states` becomes where each goes on, in a new episode where one ended.

    Returns the number of ended episodes and the sum of the rewards.
    """
    n_ended = 0
    reward_sum = 0.0
    for row in range(len(states)):
        s_t[row], r_t[row], terminated[row] = step_state(
            tables, states[row], actions[row], np.int64(draws[row])
        )
        reward_sum += r_t[row]
        if terminated[row]:
            n_ended += 1
            states[row] = reset_state(tables, np.int64(reset_draws[row]))
        else:
            states[row] = s_t[row]
    return n_ended, reward_sum
