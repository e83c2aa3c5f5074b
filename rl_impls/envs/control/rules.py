"""Rules of compiled environments: three functions on a row of a state, chosen by a type.

Compiled code calls `reset_row`, `step_row` and `observe_row` with an environment's parameters, and
their type chooses the rules while it compiles: no call goes through a pointer, and the result can
be cached. So one set of rules serves a batch, a single environment and whole training loops. From
Python the same three functions run the rules uncompiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import floor, prod
from typing import Any, Final, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from rl_impls.jit import inlined, require_numba

require_numba("a compiled environment", otherwise="name one of Gymnasium's own")


@dataclass(frozen=True, slots=True)
class Control:
    """A description of an environment, enough to hold many of it."""

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
    """Three functions that numba can compile, with exactly these names of parameters.

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
    """Register the rules for parameters of this type."""
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


# Sine and cosine together, for angles of up to a million.
#
# Inlined into the loop, with one reduction for both: a step of Pendulum takes half as long as with
# the C library's. The angle is reduced to within an eighth of a turn in two parts (Cody & Waite,
# 1980); the polynomials there are those of fdlibm (Sun Microsystems, 1993). The result is within
# 1e-15 of the exact one.


_TURNS: Final = 0.6366197723675814  # 2 / pi
# pi / 2 in two parts: a product of the first and a whole number of up to 2**20 is exact.
_QUARTER: Final = 1.57079632673412561417
_QUARTER_REST: Final = 6.07710050650619224932e-11

_S1: Final = -1.66666666666666324348e-01
_S2: Final = 8.33333333332248946124e-03
_S3: Final = -1.98412698298579493134e-04
_S4: Final = 2.75573137070700676789e-06
_S5: Final = -2.50507602534068634195e-08
_S6: Final = 1.58969099521155010221e-10
_C1: Final = 4.16666666666666019037e-02
_C2: Final = -1.38888888888741095749e-03
_C3: Final = 2.48015872894767294178e-05
_C4: Final = -2.75573143513906633035e-07
_C5: Final = 2.08757232129817482790e-09
_C6: Final = -1.13596475577881948265e-11


@inlined
def sin_cos(angle: Any) -> tuple[Any, Any]:
    """Return (sine, cosine) of an angle in radians."""
    n = floor(angle * _TURNS + 0.5)
    y = angle - n * _QUARTER - n * _QUARTER_REST
    z = y * y
    sine = y + y * z * (_S1 + z * (_S2 + z * (_S3 + z * (_S4 + z * (_S5 + z * _S6)))))
    cosine = z * z * (_C1 + z * (_C2 + z * (_C3 + z * (_C4 + z * (_C5 + z * _C6)))))
    cosine = 1.0 - 0.5 * z + cosine
    if n & 1:
        sine, cosine = cosine, -sine
    if n & 2:
        sine, cosine = -sine, -cosine
    return sine, cosine
