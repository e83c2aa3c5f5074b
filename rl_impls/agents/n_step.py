"""Returns of several steps, gathered before a transition is stored (Sutton, 1988)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rl_impls.agents.agent import Array, State, take_over
from rl_impls.envs.control.step import Step
from rl_impls.jit import compiled
from rl_impls.replay.layout import Transitions


@compiled
def push_step(
    obs_tm1: Any, a_tm1: Any, r_t: Any, obs_t: Any, terminated: Any, truncated: Any, idle: Any,
    discount: float, obs: Any, actions: Any, returns: Any, counts: Any, firsts: Any,
    to_obs_tm1: Any, to_a_tm1: Any, to_r_t: Any, to_obs_t: Any, to_terminated: Any,
) -> int:  # fmt: skip
    """Add a step to the windows of its environments, hand out those that are whole, and return how
    many these are.

    A window is a slot of a ring for each environment: what was seen and done, and the sum of
    discount**k r of the steps since.
    """
    n_rows = 0
    n = obs.shape[1]
    for env in range(len(r_t)):
        if idle[env]:
            continue
        first = firsts[env]
        newest = (first + counts[env]) % n
        count = counts[env] + 1
        obs[env, newest] = obs_tm1[env]
        actions[env, newest] = a_tm1[env]
        returns[env, newest] = 0.0
        worth = 1.0
        for age in range(count):
            returns[env, (newest - age) % n] += worth * r_t[env]
            worth *= discount
        n_whole = count if terminated[env] else count // n
        for k in range(n_whole):
            at = (first + k) % n
            to_obs_tm1[n_rows] = obs[env, at]
            to_a_tm1[n_rows] = actions[env, at]
            to_r_t[n_rows] = returns[env, at]
            to_obs_t[n_rows] = obs_t[env]
            to_terminated[n_rows] = terminated[env]
            n_rows += 1
        firsts[env] = (first + n_whole) % n
        counts[env] = 0 if truncated[env] else count - n_whole
    return n_rows


class Windows:
    """Makes transitions of `n` steps from single ones:

        r_t + discount r_tp1 + ... + discount**(n - 1) r_tpn-1, and where that led

    so that values bootstrap from there by discount**n. Near a terminal state there are fewer steps,
    and nothing to bootstrap from. Where an episode is cut, what has fewer than `n` is left out: it
    would have to be worth another power of the discount.
    """

    def __init__(self, n_envs: int, obs_size: int, n: int, discount: float) -> None:
        self._discount: Final = discount
        self._windows: Final[State] = {
            "obs": np.zeros((n_envs, n, obs_size), np.float32),
            "actions": np.zeros((n_envs, n), np.int64),
            "returns": np.zeros((n_envs, n), np.float64),
            "counts": np.zeros(n_envs, np.int64),
            "firsts": np.zeros(n_envs, np.int64),
        }
        self._out: Final = Transitions.zeros(n_envs * n, obs_size)
        self._none_idle: Final = np.zeros(n_envs, np.bool_)

    def push(self, step: Step, a_tm1: Array) -> Transitions:
        """Return the transitions that this step completes; the next call overwrites them."""
        n_rows = push_step(
            step.obs_tm1, a_tm1, step.r_t, step.obs_t, step.terminated, step.truncated,
            self._none_idle if step.idle is None else step.idle, self._discount,
            *self._windows.values(), *self._out.arrays(),
        )  # fmt: skip
        return Transitions(*(array[:n_rows] for array in self._out.arrays()))

    def cut(self) -> None:
        """Forget what waits: the environments begin anew."""
        self._windows["counts"][:] = 0

    def state(self) -> State:
        return {name: array.copy() for name, array in self._windows.items()}

    def set_state(self, state: Mapping[str, Array]) -> None:
        for name, array in self._windows.items():
            take_over(array, state[name], name)
        n = self._windows["obs"].shape[1]
        for name in ("counts", "firsts"):
            if not ((state[name] >= 0) & (state[name] < n)).all():
                raise ValueError(f"{name} of a window beyond its {n} steps")
