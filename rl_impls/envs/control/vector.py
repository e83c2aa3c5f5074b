"""Gymnasium's vector environments as a batch, whichever way they begin the next episode.

A batch begins it in the same step: `next_obs` is its first observation where one ended. Gymnasium
has three modes (`AutoresetMode`). In the same step: the last observation is in `infos`. Disabled:
whoever steps asks for the reset, of the rows that ended. At the next step: the action of that step
is not taken, and what comes back is no transition. `SyncVectorEnv` and `AsyncVectorEnv` reset rows
when they are asked to in this mode too; others are left to it, and the rows of such a step are
`idle`: no agent learns from them.
"""

from __future__ import annotations

from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import iterate

from rl_impls.envs.control.step import (
    Buffers,
    Observations,
    PartlyIdle,
    Step,
    check_actions,
    check_numbers,
    checked_actions,
    faults_named,
)
from rl_impls.envs.spaces import actions_of, layout_of
from rl_impls.errors import SettingError

NEXT_STEP, SAME_STEP, DISABLED = "NEXT_STEP", "SAME_STEP", "DISABLED"


class VectorBatch:
    """A vector environment with the interface of `step.ControlBatch`."""

    def __init__(self, env: VectorEnv[Any, Any, Any], *, seed: int | None = None) -> None:
        self.env: Final = env
        self.n_envs: Final = int(env.num_envs)
        self._layout = layout = layout_of(env.single_observation_space)
        self._actions = actions = actions_of(env.single_action_space)
        self.obs_size: Final = layout.size
        self.n_actions: Final = actions.n
        self.act_low, self.act_high = actions.low, actions.high
        self.act_size: Final = len(actions.low)
        self._mode: Final = mode_of(env)
        self._whole: Final = isinstance(env.single_observation_space, gymnasium.spaces.Box)
        self._waits: Final = self._mode == NEXT_STEP and not isinstance(
            env.unwrapped, SyncVectorEnv | AsyncVectorEnv
        )
        if self._waits and layout.dtype == np.uint8:
            raise SettingError(
                "frames are taken from vector environments that reset in the same step: make it "
                "with vectorization_mode='sync'."
            )
        self._resetting = np.zeros(self.n_envs, np.bool_)  # by the next step
        self._action_shape = (self.n_envs, self.act_size) if self.act_size else (self.n_envs,)
        self._action_type: type[np.generic] = np.float32 if self.act_size else np.int64
        self._buffers = Buffers(self.n_envs, *layout.shape, dtype=layout.dtype)
        self.reset(seed)

    @property
    def obs(self) -> Observations:
        return self._buffers.obs

    def reset(self, seed: int | None = None) -> Observations:
        with faults_named():
            obs, _ = self.env.reset(seed=seed)
        self._write(obs, self.obs)
        self._resetting[:] = False
        check_numbers(self.obs)
        return self.obs

    def step(self, actions: Any) -> Step:
        actions = checked_actions(actions, self._action_shape, self._action_type)
        check_actions(actions, self.n_actions)
        to = self._buffers.upcoming
        with faults_named():
            obs, r_t, terminated, truncated, infos = self.env.step(self._actions.taken(actions))
            self._write(obs, to.next_obs)
            to.r_t[:], to.terminated[:], to.truncated[:] = r_t, terminated, truncated
            to.obs_t[...] = to.next_obs
            ended = to.terminated | to.truncated
            if ended.any() and not self._waits:
                self._begin_anew(ended, infos, to)
        check_numbers(to.obs_t, to.r_t)
        step = self._buffers.turn()
        if not self._waits:
            return step
        idle, self._resetting = self._resetting, ended
        return PartlyIdle.of(step, idle) if idle.any() else step

    def _begin_anew(self, ended: Any, infos: dict[str, Any], to: Step) -> None:
        """Find the last observation of what ended, and the first of what follows."""
        if self._mode == SAME_STEP:
            for row in np.flatnonzero(ended):
                to.obs_t[row] = self._layout.numbers(infos["final_obs"][row])
            return
        obs, _ = self.env.reset(options={"reset_mask": ended})
        self._write(obs, to.next_obs)

    def _write(self, observed: Any, target: Observations) -> None:
        if self._whole:
            target[...] = np.reshape(observed, target.shape)
            return
        for row, one in enumerate(iterate(self.env.observation_space, observed)):
            target[row] = self._layout.numbers(one)

    def close(self) -> None:
        self.env.close()


def mode_of(env: VectorEnv[Any, Any, Any]) -> str:
    """Return how episodes follow one another; a vector environment has to say so."""
    mode = getattr(env.metadata.get("autoreset_mode"), "name", None)
    if mode not in (NEXT_STEP, SAME_STEP, DISABLED):
        raise SettingError(
            f"{type(env.unwrapped).__name__} does not say when it resets, which needs an "
            "AutoresetMode in metadata['autoreset_mode']: add it, or name the environment instead."
        )
    return str(mode)
