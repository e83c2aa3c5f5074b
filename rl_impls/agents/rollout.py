"""The experience of one round of PPO, in arrays that are allocated once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from rl_impls.agents.agent import Array, State, take_over


class Flat(NamedTuple):
    """The same memory, one row a step."""

    obs: Array
    actions: Array
    log_probs: Array
    advantages: Array
    values: Array


class Rollout:
    """(n_steps, n_envs) of everything; `t` is the next step to fill."""

    def __init__(self, n_steps: int, n_envs: int, obs_size: int) -> None:
        shape = (n_steps, n_envs)
        self.n_steps: Final = n_steps
        self.t = 0
        self.obs_tm1 = np.zeros((*shape, obs_size), np.float32)
        self.actions = np.zeros(shape, np.int64)
        self.log_probs = np.zeros(shape, np.float32)
        self.r_t = np.zeros(shape, np.float32)
        self.terminated = np.zeros(shape, np.bool_)
        self.ended = np.zeros(shape, np.bool_)
        self.v_tm1 = np.zeros(shape, np.float32)
        self.v_t = np.zeros(shape, np.float32)
        self.advantages = np.zeros(shape, np.float32)
        n = n_steps * n_envs
        self.flat: Final = Flat(
            self.obs_tm1.reshape(n, obs_size),
            self.actions.reshape(n),
            self.log_probs.reshape(n),
            self.advantages.reshape(n),
            self.v_tm1.reshape(n),
        )

    def chain(self, v_next: Array) -> None:
        """Where no episode ended, a step led to where the next one begins."""
        going_on = ~self.ended
        np.copyto(self.v_t[:-1], self.v_tm1[1:], where=going_on[:-1])
        np.copyto(self.v_t[-1], v_next, where=going_on[-1])

    def _kept(self) -> dict[str, Array]:
        """What is known of the steps before `t`; the rest is computed at the end of the round."""
        return {
            "obs_tm1": self.obs_tm1,
            "actions": self.actions,
            "log_probs": self.log_probs,
            "r_t": self.r_t,
            "terminated": self.terminated,
            "ended": self.ended,
            "v_t": self.v_t,
        }

    def state(self) -> State:
        kept = {name: array[: self.t].copy() for name, array in self._kept().items()}
        return {"t": np.array(self.t), **kept}

    def set_state(self, state: Mapping[str, Array]) -> None:
        t = int(state["t"])
        for name, array in self._kept().items():
            take_over(array[:t], state[name], name)
        self.t = t


class Minibatch(NamedTuple):
    obs: Array
    actions: Array
    log_probs: Array
    advantages: Array
    returns: Array
    grad_logits: Array
    grad_values: Array

    @classmethod
    def zeros(cls, n: int, obs_size: int, n_actions: int) -> Minibatch:
        return cls(
            np.zeros((n, obs_size), np.float32),
            np.zeros(n, np.int64),
            np.zeros(n, np.float32),
            np.zeros(n, np.float32),
            np.zeros(n, np.float32),
            np.zeros((n, n_actions), np.float32),
            np.zeros((n, 1), np.float32),
        )

    def first(self, n: int) -> Minibatch:
        """Room for `n` rows: all but the last of an epoch are whole."""
        return self if n == len(self.actions) else Minibatch(*(array[:n] for array in self))
