"""Advantages and returns of a stretch of experience, in compiled code."""

from __future__ import annotations

from typing import Any

from rl_impls.jit import compiled


@compiled
def gae(
    r_t: Any, v_tm1: Any, v_t: Any, terminated_t: Any, ended_t: Any,
    discount: float, trace: float, advantages: Any,
) -> None:  # fmt: skip
    """Generalised advantage estimation (Schulman et al., 2016, equation 16), backwards in time:

    delta_t = r_t + discount v_t (1 - terminated_t) - v_tm1
    A_t = delta_t + discount trace (1 - ended_t) A_tp1

    All arrays are (steps, n_envs). `v_t` is the value of where a step led: with a truncated episode
    its last observation, not the first of the next. `ended_t` is terminated or truncated.
    """
    n_steps, n_envs = r_t.shape
    for row in range(n_envs):
        advantage = 0.0
        for t in range(n_steps - 1, -1, -1):
            follows = 0.0 if terminated_t[t, row] else discount * v_t[t, row]
            delta = r_t[t, row] + follows - v_tm1[t, row]
            if ended_t[t, row]:
                advantage = 0.0
            advantage = delta + discount * trace * advantage
            advantages[t, row] = advantage
