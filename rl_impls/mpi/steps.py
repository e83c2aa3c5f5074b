"""A step of a rank's environments as a message: a row of float32 for each, and a mark at the end.

The mark is reset before a message is received: MPICH may end a receive from a rank that was killed
without an error, and without what it had to say.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.control.step import Floats, Step

NOTHING, WHOLE = 0.0, 1.0


class Layout:
    """Of a row: where to act next, where the action led, reward, terminated, truncated."""

    def __init__(self, n_envs: int, obs_size: int) -> None:
        self._n_envs: Final = n_envs
        self._obs_size: Final = obs_size
        self._width: Final = 2 * obs_size + 3
        self.n_numbers: Final = n_envs * self._width + 1

    def write(self, step: Step, message: Floats) -> None:
        size, rows = self._obs_size, message[:-1].reshape(self._n_envs, self._width)
        rows[:, :size] = step.next_obs
        rows[:, size : 2 * size] = step.obs_t
        rows[:, -3], rows[:, -2], rows[:, -1] = step.r_t, step.terminated, step.truncated
        message[-1] = WHOLE

    def read(self, messages: NDArray[np.float32], obs_tm1: Floats) -> Step:
        """The steps of several ranks as one, with where each was taken."""
        size, rows = self._obs_size, messages[:, :-1].reshape(-1, self._width)
        return Step(
            obs_t=rows[:, size : 2 * size].copy(),
            r_t=rows[:, -3].copy(),
            terminated=rows[:, -2] != 0.0,
            truncated=rows[:, -1] != 0.0,
            next_obs=rows[:, :size].copy(),
            obs_tm1=obs_tm1,
        )
