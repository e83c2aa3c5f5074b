"""Many environments as an agent sees them: the same for compiled ones and for Gymnasium's own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.model import Flags
from rl_impls.errors import EnvironmentFault, IllegalAction, ImplsError, SettingError

Floats = NDArray[np.float32]
Observations = NDArray[np.float32]


class Step(NamedTuple):
    """The results of one action in every environment; row i of every array is environment i.

    The arrays are the environment's own: the next step overwrites all but `next_obs`, which it
    hands on as its `obs_tm1`, and the step after that overwrites this too.
    """

    obs_t: Observations  # where the action led, the last observation of an episode included
    r_t: Floats
    terminated: Flags  # the episode is over, and nothing follows `obs_t`
    truncated: Flags  # its time is up: `obs_t` still has a value. Both may be true at once
    # Where to act next: `obs_t`, or the first observation of the next episode where one ended.
    next_obs: Observations
    obs_tm1: Observations  # where the action was taken

    @property
    def idle(self) -> Flags | None:
        """Rows that only began an episode, with no action taken: nothing is learned from them."""
        return None

    def only(self, rows: Flags) -> Step:
        """Return the step of these environments alone."""
        return Step(
            self.obs_t[rows], self.r_t[rows], self.terminated[rows], self.truncated[rows],
            self.next_obs[rows], self.obs_tm1[rows],
        )  # fmt: skip


class PartlyIdle(Step):
    """A step in which some environments only began an episode; see `vector`."""

    _idle: Flags

    @classmethod
    def of(cls, step: Step, idle: Flags) -> PartlyIdle:
        made = cls(*step)
        made._idle = idle
        return made

    @property
    def idle(self) -> Flags | None:
        return self._idle


class ControlBatch(Protocol):
    """`n_envs` environments side by side; one that ends begins again in the same step."""

    @property
    def n_envs(self) -> int: ...

    @property
    def obs_size(self) -> int: ...

    @property
    def n_actions(self) -> int:
        """The number of numbered actions, from 0; 0 where actions are continuous."""

    @property
    def act_size(self) -> int:
        """The numbers of a continuous action; 0 where actions are numbered."""

    @property
    def act_low(self) -> Floats:
        """The lower bounds of continuous actions, (act_size,)."""

    @property
    def act_high(self) -> Floats: ...

    @property
    def obs(self) -> Observations:
        """The observations to act on next, (n_envs, obs_size). Frames are (n_envs, height, width)
        of uint8."""

    def reset(self, seed: int | None = None) -> Observations:
        """Begin new episodes everywhere. Without a seed the stream of chance goes on."""

    def step(self, actions: Any) -> Step:
        """Take one action everywhere: (n_envs,) int64, or (n_envs, act_size) float32."""


class Buffers:
    """The arrays of the steps of a batch, allocated once.

    There are two for where to act next, by turns: what was acted on outlives the step.
    """

    def __init__(self, n_envs: int, *obs_shape: int, dtype: type[np.generic] = np.float32) -> None:
        if n_envs < 1:
            raise SettingError(f"a batch has at least 1 environment, not {n_envs}.")
        obs_t, here, there = (_zeros((n_envs, *obs_shape), dtype) for _ in range(3))
        r_t = np.zeros(n_envs, np.float32)
        terminated, truncated = (np.zeros(n_envs, np.bool_) for _ in range(2))
        self.upcoming = Step(obs_t, r_t, terminated, truncated, next_obs=there, obs_tm1=here)
        self._done = self.upcoming._replace(next_obs=here, obs_tm1=there)

    @property
    def obs(self) -> Observations:
        return self.upcoming.obs_tm1

    def turn(self) -> Step:
        """Return the upcoming step, now that its arrays are filled."""
        self.upcoming, self._done = self._done, self.upcoming
        return self._done


def _zeros(shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    return np.zeros(shape, dtype)


def checked_actions(actions: Any, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    """Return these actions as the array that a step takes, or say what they are not."""
    array = np.asarray(actions)
    if array.shape != shape:
        raise IllegalAction(f"actions have the shape {shape} here, not {array.shape}.")
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise IllegalAction(f"actions are {np.dtype(dtype)} here, not {array.dtype}.")
    return np.ascontiguousarray(array, dtype)


def check_actions(actions: NDArray[Any], n_actions: int) -> None:
    """Refuse bad actions before the first environment is stepped: a batch steps whole or not at
    all."""
    if n_actions:
        bad = (actions < 0) | (actions >= n_actions)
        wanted = f"an action is a whole number from 0 to {n_actions - 1}"
    else:
        bad = ~np.isfinite(actions).all(axis=1)
        wanted = "an action is made of finite numbers"
    if bad.any():
        row = int(bad.argmax())
        raise IllegalAction(f"row {row}: {wanted}, not {actions[row]}.")


def check_numbers(obs: Observations, r_t: Floats | None = None) -> None:
    """Refuse observations and rewards that are not finite, by the row of their environment."""
    total = 0.0 if r_t is None else float(r_t.sum())
    if obs.dtype != np.uint8:
        total += float(obs.sum())
    # One sum for all; only where it is not finite is there anything to look for.
    if math.isfinite(total):
        return
    for what, array in (("an observation", obs), ("a reward", r_t)):
        if array is None or np.isfinite(array).all():
            continue
        row = int(np.argwhere(~np.isfinite(array))[0][0])
        raise EnvironmentFault(
            f"environment {row} returned {what} that is not finite ({array[row]}): look at what it "
            "computes there, or wrap it so that it never does."
        )


@contextmanager
def faults_named() -> Iterator[None]:
    """Say of an error that it is the environment's own."""
    try:
        yield
    except ImplsError:
        raise
    except Exception as error:
        raise EnvironmentFault(
            f"an environment raised {type(error).__name__} ({error}): mend it, or handle that in a "
            "wrapper."
        ) from error
