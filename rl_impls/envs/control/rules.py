"""What a compiled environment is: three functions on a row of its state.

Compiled code calls `reset_row`, `step_row` and `observe_row` with an environment's parameters, and
their type chooses the rules while it compiles: no call goes through a pointer, and the result can
be cached. So one set of rules serves a batch, a single environment and whole training loops. From
Python the same three functions run the rules uncompiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from rl_impls.jit import require_numba

require_numba("a compiled environment", otherwise="name one of Gymnasium's own")

from numba import types  # noqa: E402
from numba.extending import overload  # noqa: E402


@dataclass(frozen=True, slots=True)
class Control:
    """What has to be known of an environment to hold many of it."""

    params: Any  # a NamedTuple; its type chooses the rules
    state_size: int
    max_steps: int
    obs_low: tuple[float, ...] = ()  # where observations are numbers
    obs_high: tuple[float, ...] = ()
    frame: tuple[int, ...] = ()  # the shape of those that are bytes
    n_actions: int = 0  # where actions are numbered
    act_low: tuple[float, ...] = ()  # where they are continuous
    act_high: tuple[float, ...] = ()

    @property
    def obs_shape(self) -> tuple[int, ...]:
        return self.frame or (len(self.obs_low),)

    @property
    def obs_size(self) -> int:
        return prod(self.obs_shape)

    @property
    def obs_type(self) -> type[np.generic]:
        return np.uint8 if self.frame else np.float32

    @property
    def act_size(self) -> int:
        return len(self.act_low)


class Rules(NamedTuple):
    """In what numba can compile, with exactly these names of parameters.

    `states` is (n, state_size) float64 and `chance` (n,) uint64; `actions` is (n,) int64 or
    (n, act_size) float32; `obs` is (n, obs_size) float32, or frames of uint8. Each touches one row.
    """

    reset: Callable[..., Any]  # (params, states, row, chance): begin an episode
    step: Callable[..., Any]  # (params, states, row, actions): (reward, terminated)
    observe: Callable[..., Any]  # (params, states, row, obs)


_RULES: dict[type, Rules] = {}
# Part of the loop that calls them: a step of the reactor takes an eighth less.
_PART: Final[Any] = {"forceinline": True}


def rules_for(params: type, rules: Rules) -> None:
    """These are the rules wherever the parameters are of this type."""
    _RULES[params] = rules


def reset_row(params: Any, states: Any, row: int, chance: Any) -> None:
    """Begin an episode."""
    with np.errstate(over="ignore"):  # counters wrap around
        _RULES[type(params)].reset(params, states, row, chance)


def step_row(params: Any, states: Any, row: int, actions: Any) -> tuple[float, bool]:
    """Take the row's action: the reward, and whether the episode terminated."""
    with np.errstate(over="ignore"):
        r_t, terminated = _RULES[type(params)].step(params, states, row, actions)
    return float(r_t), bool(terminated)


def observe_row(params: Any, states: Any, row: int, obs: Any) -> None:
    """Write what is seen of the state."""
    with np.errstate(over="ignore"):
        _RULES[type(params)].observe(params, states, row, obs)


def _chosen(params: types.Type) -> Rules | None:
    return _RULES.get(getattr(params, "instance_class", type(None)))


@overload(reset_row, strict=False, jit_options=_PART)
def _reset_row(
    params: types.Type, states: types.Type, row: types.Type, chance: types.Type
) -> Callable[..., Any] | None:
    rules = _chosen(params)
    return None if rules is None else rules.reset


@overload(step_row, strict=False, jit_options=_PART)
def _step_row(
    params: types.Type, states: types.Type, row: types.Type, actions: types.Type
) -> Callable[..., Any] | None:
    rules = _chosen(params)
    return None if rules is None else rules.step


@overload(observe_row, strict=False, jit_options=_PART)
def _observe_row(
    params: types.Type, states: types.Type, row: types.Type, obs: types.Type
) -> Callable[..., Any] | None:
    rules = _chosen(params)
    return None if rules is None else rules.observe
