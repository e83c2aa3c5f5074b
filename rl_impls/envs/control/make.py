"""A batch of environments from whatever names, makes or is one: compiled ones, and Gymnasium's own
with the same interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import VectorEnv

from rl_impls.envs.control.compiled import CompiledBatch
from rl_impls.envs.control.rules import Control
from rl_impls.envs.control.step import (
    Buffers,
    ControlBatch,
    Observations,
    Step,
    check_actions,
    check_numbers,
    checked_actions,
    faults_named,
)
from rl_impls.envs.control.vector import VectorBatch
from rl_impls.envs.model import Flags
from rl_impls.envs.spaces import actions_of, layout_of
from rl_impls.errors import SettingError
from rl_impls.registry import ENVIRONMENTS, located

AnyEnv = gymnasium.Env[Any, Any]
EnvSource = str | EnvSpec | AnyEnv | Callable[[], AnyEnv] | VectorEnv[Any, Any, Any] | ControlBatch
"""A name or a specification, an environment, a function that makes one, a vector environment, or a
batch."""


class GymnasiumBatch:
    """Environments of one kind, stepped one after another; see `step.ControlBatch`.

    Observations are laid out flat (`envs.spaces`), but for frames; actions are Discrete or a Box.
    Environment i is reset with `seed + i`, as Gymnasium's own vectors do.
    """

    def __init__(self, envs: Sequence[AnyEnv], *, seed: int | None = None) -> None:
        if not envs:
            raise SettingError("a batch has at least 1 environment, not 0.")
        self.envs: Final = list(envs)
        self.n_envs: Final = len(self.envs)
        self._layout = layout = layout_of(envs[0].observation_space)
        self._actions = actions = actions_of(envs[0].action_space)
        self.obs_size: Final = layout.size
        self.n_actions: Final = actions.n
        self.act_low, self.act_high = actions.low, actions.high
        self.act_size: Final = len(actions.low)
        self._action_shape = (self.n_envs, self.act_size) if self.act_size else (self.n_envs,)
        self._action_type: type[np.generic] = np.float32 if self.act_size else np.int64
        self._buffers = Buffers(self.n_envs, *layout.shape, dtype=layout.dtype)
        self._rest = np.zeros(self.n_envs, np.bool_)
        self.reset(seed)

    @property
    def obs(self) -> Observations:
        return self._buffers.obs

    def reset(self, seed: int | None = None) -> Observations:
        self._rest[:] = False
        with faults_named():
            for row, env in enumerate(self.envs):
                obs, _ = env.reset(seed=None if seed is None else seed + row)
                self.obs[row] = self._layout.numbers(obs)
        check_numbers(self.obs)
        return self.obs

    def rest(self, rows: Flags) -> None:
        """Step these environments no more until the next `reset`; their rows stay as they are."""
        self._rest |= rows

    def step(self, actions: Any) -> Step:
        actions = checked_actions(actions, self._action_shape, self._action_type)
        check_actions(actions, self.n_actions)
        taken = self._actions.taken(actions)
        if self.n_actions:
            taken = taken.tolist()  # environments may want an int
        to = self._buffers.upcoming
        with faults_named():
            for row, env in enumerate(self.envs):
                if self._rest[row]:
                    continue
                obs, to.r_t[row], to.terminated[row], to.truncated[row], _ = env.step(taken[row])
                to.obs_t[row] = self._layout.numbers(obs)
                if to.terminated[row] or to.truncated[row]:
                    obs, _ = env.reset()
                to.next_obs[row] = self._layout.numbers(obs)
        check_numbers(to.obs_t, to.r_t)
        return self._buffers.turn()

    def close(self) -> None:
        for env in self.envs:
            env.close()


COMPILED: Final[dict[str, Callable[..., Control]]] = {
    name: located(entry.control) for name, entry in ENVIRONMENTS.items() if entry.control
}


def make_batch(
    source: str | EnvSpec | Callable[[], AnyEnv],
    n_envs: int,
    *,
    seed: int | None = None,
    **arguments: Any,
) -> ControlBatch:
    """Make `n_envs` of `gymnasium.make(name, **arguments)`, compiled where there are rules for it,
    or of what a function makes."""
    if isinstance(source, str) and source in COMPILED:
        return CompiledBatch(COMPILED[source](**arguments), n_envs, seed=seed)
    return GymnasiumBatch([make_one(source, **arguments) for _ in range(n_envs)], seed=seed)


def make_one(source: str | EnvSpec | Callable[[], AnyEnv], **arguments: Any) -> AnyEnv:
    """Make an environment, with what fails in one sentence."""
    if isinstance(source, str | EnvSpec):
        name = source if isinstance(source, str) else source.id
        try:
            return gymnasium.make(source, **arguments)
        except Exception as error:  # the environment's own constructor may raise anything
            said = " ".join(str(error).split()) or "no reason given"
            raise SettingError(
                f"{name} cannot be made ({type(error).__name__}: {said}): look for its name, and "
                "for what it needs."
            ) from error
    with faults_named():
        made = source()
    if not isinstance(made, gymnasium.Env):
        raise SettingError(
            f"the function that makes environments returned {type(made).__name__}: let it return "
            "a gymnasium.Env."
        )
    return made


def batch_of(source: EnvSource, n_envs: int, *, seed: int | None = None) -> ControlBatch:
    """Return a batch of any source: `n_envs` of what can be made, else of those that are there."""
    if isinstance(source, VectorEnv):
        return VectorBatch(source, seed=seed)
    if isinstance(source, gymnasium.Env):
        return GymnasiumBatch([source], seed=seed)
    if isinstance(source, str | EnvSpec):
        return make_batch(source, n_envs, seed=seed)
    if callable(source):
        return make_batch(source, n_envs, seed=seed)
    if hasattr(source, "step") and hasattr(source, "obs_size"):
        return source
    raise SettingError(
        f"{type(source).__name__} is no environment: give a name, a gymnasium.Env, a function that "
        "makes one, a vector environment or a batch."
    )


def made_again(source: EnvSource) -> str | EnvSpec | Callable[[], AnyEnv] | None:
    """Return what makes more environments like these, if anything is known to."""
    if isinstance(source, VectorEnv):
        return None if source.spec is None else source.spec.id
    if isinstance(source, str | EnvSpec):
        return source
    if isinstance(source, gymnasium.Env):
        return source.spec
    return source if callable(source) else None


def name_of(source: EnvSource) -> str | None:
    """Return the name under which an environment is known, if it has one."""
    if isinstance(source, str):
        return source
    spec = source if isinstance(source, EnvSpec) else getattr(source, "spec", None)
    return spec.id if isinstance(spec, EnvSpec) else None
