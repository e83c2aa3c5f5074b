"""Steps of a batch into a replay."""

from __future__ import annotations

from rl_impls.agents.agent import Array
from rl_impls.envs.control.step import Step
from rl_impls.replay.ring import Ring
from rl_impls.replay.transitions import Transitions


def store(replay: Ring, step: Step, a_tm1: Array) -> None:
    """Each with where it led, `obs_t`: a truncated episode has a value there."""
    if len(a_tm1) == 1:  # without a look at each array, which costs more than one row
        replay.add(
            step.obs_tm1[0], a_tm1[0], step.r_t[0], step.obs_t[0], step.terminated[0]
        )  # fmt: skip
        return
    replay.add_batch(Transitions(step.obs_tm1, a_tm1, step.r_t, step.obs_t, step.terminated))
