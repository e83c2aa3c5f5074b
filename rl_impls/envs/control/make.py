"""A batch by the name of its environment: compiled, or of Gymnasium's own with the same
interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces

from rl_impls.envs.control.compiled import CompiledBatch
from rl_impls.envs.control.rules import Control
from rl_impls.envs.control.step import (
    Buffers,
    ControlBatch,
    Floats,
    Observations,
    Step,
    checked_actions,
)
from rl_impls.errors import IllegalAction, SettingError, SpaceError
from rl_impls.registry import ENVIRONMENTS, located


class GymnasiumBatch:
    """Environments of one kind, stepped one after another; see `step.ControlBatch`.

    Observations come from a Box and are laid out flat; actions are Discrete or a Box. Environment i
    is reset with `seed + i`, as Gymnasium's own vectors do.
    """

    def __init__(self, envs: Sequence[gymnasium.Env[Any, Any]], *, seed: int | None = None) -> None:
        if not envs:
            raise SettingError("a batch has at least 1 environment, not 0.")
        self.envs: Final = list(envs)
        self.n_envs: Final = len(self.envs)
        observations, actions = envs[0].observation_space, envs[0].action_space
        self.obs_size: Final = _obs_size(observations)
        self.n_actions: Final = int(actions.n) if isinstance(actions, spaces.Discrete) else 0
        self.act_low, self.act_high = _act_bounds(actions)
        self.act_size: Final = len(self.act_low)
        self._first_action = int(actions.start) if isinstance(actions, spaces.Discrete) else 0
        self._box_shape = actions.shape
        self._action_shape = (self.n_envs, self.act_size) if self.act_size else (self.n_envs,)
        self._action_type: type[np.generic] = np.float32 if self.act_size else np.int64
        self._buffers = Buffers(self.n_envs, self.obs_size)
        self.reset(seed)

    @property
    def obs(self) -> Observations:
        return self._buffers.obs

    def reset(self, seed: int | None = None) -> Observations:
        for row, env in enumerate(self.envs):
            obs, _ = env.reset(seed=None if seed is None else seed + row)
            self.obs[row] = np.ravel(obs)
        return self.obs

    def step(self, actions: Any) -> Step:
        actions = checked_actions(actions, self._action_shape, self._action_type)
        self._check(actions)
        to = self._buffers.upcoming
        for row, env in enumerate(self.envs):
            obs, to.r_t[row], to.terminated[row], to.truncated[row], _ = env.step(
                self._action(actions[row])
            )
            to.obs_t[row] = np.ravel(obs)
            if to.terminated[row] or to.truncated[row]:
                obs, _ = env.reset()
            to.next_obs[row] = np.ravel(obs)
        return self._buffers.turn()

    def close(self) -> None:
        for env in self.envs:
            env.close()

    def _check(self, actions: Any) -> None:
        """Refuse bad actions before the first environment is stepped: a batch steps whole or not at
        all."""
        if self.n_actions:
            bad = (actions < 0) | (actions >= self.n_actions)
            wanted = f"an action is a whole number from 0 to {self.n_actions - 1}"
        else:
            bad = ~np.isfinite(actions).all(axis=1)
            wanted = "an action is made of finite numbers"
        if bad.any():
            row = int(bad.argmax())
            raise IllegalAction(f"row {row}: {wanted}, not {actions[row]}.")

    def _action(self, action: Any) -> Any:
        if self.n_actions:
            return int(action) + self._first_action
        # Some environments fail on, or run away with, what lies beyond their bounds.
        return np.clip(action, self.act_low, self.act_high).reshape(self._box_shape)


def _obs_size(space: spaces.Space[Any]) -> int:
    if not isinstance(space, spaces.Box):
        raise SpaceError(
            f"a batch cannot hold observations from {space}: choose an environment whose "
            "observation space is a Box."
        )
    return int(np.prod(space.shape))


def _act_bounds(space: spaces.Space[Any]) -> tuple[Floats, Floats]:
    if isinstance(space, spaces.Discrete):
        return np.zeros(0, np.float32), np.zeros(0, np.float32)
    if not isinstance(space, spaces.Box):
        raise SpaceError(
            f"a batch cannot hold actions from {space}: choose an environment whose action space "
            "is Discrete or a Box."
        )
    return space.low.ravel().astype(np.float32), space.high.ravel().astype(np.float32)


COMPILED: Final[dict[str, Callable[..., Control]]] = {
    name: located(entry.control) for name, entry in ENVIRONMENTS.items() if entry.control
}


def make_batch(
    name: str, n_envs: int, *, seed: int | None = None, **arguments: Any
) -> ControlBatch:
    """Make `n_envs` of `gymnasium.make(name, **arguments)`, compiled where there are rules for
    it."""
    if name in COMPILED:
        return CompiledBatch(COMPILED[name](**arguments), n_envs, seed=seed)
    return GymnasiumBatch([gymnasium.make(name, **arguments) for _ in range(n_envs)], seed=seed)
