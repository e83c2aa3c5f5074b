"""Doors: what is seen names the one to choose, and an episode is over after two of them.

On CartPole an episode of a good agent has hundreds of steps, and what goes wrong where one ends and
the next begins is one step in hundreds. Here it is one in two.
"""

from typing import Any, Final

import numpy as np

from rl_impls.envs.control.step import Buffers, Floats, Observations, Step

N_DOORS: Final = 4
EPISODE_STEPS: Final = 2


class Doors:
    """A batch of them; see `rl_impls.envs.control.step.ControlBatch`.

    Seen are `N_DOORS` numbers, drawn anew for every step. The door of the largest pays 1.
    """

    obs_size: Final = N_DOORS
    n_actions: Final = N_DOORS
    act_size: Final = 0

    def __init__(self, n_envs: int, seed: int | None) -> None:
        self.n_envs: Final = n_envs
        self.act_low: Floats = np.zeros(0, np.float32)
        self.act_high: Floats = np.zeros(0, np.float32)
        self._buffers = Buffers(n_envs, N_DOORS)
        self.reset(seed)

    @property
    def obs(self) -> Observations:
        return self._buffers.obs

    def reset(self, seed: int | None = None) -> Observations:
        self._chance = np.random.default_rng(seed)
        self._steps = 0
        self._draw(self.obs)
        return self.obs

    def step(self, actions: Any) -> Step:
        to = self._buffers.upcoming
        to.r_t[:] = self.obs.argmax(axis=1) == actions
        self._steps += 1
        ends = self._steps % EPISODE_STEPS == 0  # all of them begin and end together
        to.terminated[:] = ends
        self._draw(to.obs_t)
        if ends:
            self._draw(to.next_obs)
        else:
            to.next_obs[:] = to.obs_t
        return self._buffers.turn()

    def _draw(self, to: Observations) -> None:
        to[:] = self._chance.uniform(-1, 1, to.shape)
