"""Compiled loops over the rows of a batch, and the step of a single environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rl_impls import splitmix
from rl_impls.envs.control import (
    cartpole,
    cstr,
    pendulum,
    reactor,
    rules,
    side_scroller,
    trig,
)
from rl_impls.envs.control.rules import observe_row, reset_row, step_row
from rl_impls.envs.control.step import Floats, Observations
from rl_impls.envs.model import Flags
from rl_impls.jit import compiled, inlined, version_of
from rl_impls.splitmix import Chance

States = NDArray[np.float64]
Elapsed = NDArray[np.int64]

NONE_BAD = -1


@inlined
def first_bad(actions: Any, low: float, high: float) -> int:
    """The first row with an action outside [low, high], as a number that is none always is."""
    flat = actions.ravel()
    for i in range(len(flat)):
        if not low <= flat[i] <= high:
            return i // (len(flat) // len(actions))
    return NONE_BAD


@inlined
def copy(source: Any, target: Any) -> None:
    """All at once: row by row, a step of CartPole takes 9 % longer."""
    values, places = source.ravel(), target.ravel()
    for i in range(len(places)):
        places[i] = values[i]


def make_loops(version: int) -> tuple[Callable[..., Any], ...]:
    """The loops; `version` is that of the rules they will be compiled with."""

    @compiled
    def reset_rows(
        params: Any, states: States, elapsed: Elapsed, chance: Chance, obs: Observations
    ) -> None:
        """Begin an episode in every row."""
        _ = version
        for row in range(len(states)):
            reset_row(params, states, row, chance)
            elapsed[row] = 0
            observe_row(params, states, row, obs)

    @compiled
    def observe_rows(params: Any, states: States, obs: Observations) -> None:
        _ = version
        for row in range(len(states)):
            observe_row(params, states, row, obs)

    @compiled
    def step_rows(
        params: Any,
        max_steps: int,
        low: float,
        high: float,
        states: States,
        elapsed: Elapsed,
        chance: Chance,
        actions: Any,
        obs_t: Observations,
        r_t: Floats,
        terminated: Flags,
        truncated: Flags,
        next_obs: Observations,
    ) -> int:
        """Step every row, and begin the next episode where one ended.

        Returns the first row whose action is not allowed, before anything is changed, or -1.
        """
        _ = version
        bad = first_bad(actions, low, high)
        if bad != NONE_BAD:
            return bad
        for row in range(len(states)):
            r_t[row], terminated[row] = step_row(params, states, row, actions)
            observe_row(params, states, row, obs_t)
        copy(obs_t, next_obs)
        for row in range(len(states)):
            elapsed[row] += 1
            truncated[row] = elapsed[row] >= max_steps
            if terminated[row] or truncated[row]:
                reset_row(params, states, row, chance)
                elapsed[row] = 0
                observe_row(params, states, row, next_obs)
        return NONE_BAD

    @compiled
    def step_single(
        params: Any, states: States, actions: Any, obs: Observations
    ) -> tuple[float, bool]:
        """Step the first row, and stay where that leads."""
        _ = version
        r_t, terminated = step_row(params, states, 0, actions)
        observe_row(params, states, 0, obs)
        return r_t, terminated

    return reset_rows, observe_rows, step_rows, step_single


reset_rows, observe_rows, step_rows, step_single = make_loops(
    version_of(rules, cartpole, pendulum, cstr, reactor, side_scroller, trig, splitmix)
)
