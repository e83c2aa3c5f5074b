"""Many compiled environments at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rl_impls.envs.control.rows import (
    NONE_BAD,
    Elapsed,
    States,
    observe_rows,
    reset_rows,
    step_rows,
)
from rl_impls.envs.control.rules import Control
from rl_impls.envs.control.step import Buffers, Observations, Step, checked_actions
from rl_impls.errors import IllegalAction, SettingError
from rl_impls.splitmix import Chance, streams


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that a batch needs to go on exactly as it would have."""

    states: States
    elapsed: Elapsed  # steps of the running episodes
    chance: Chance


class CompiledBatch:
    """A batch whose whole step is one compiled call; see `step.ControlBatch` for its interface.

    Every row has a stream of chance of its own, so that what happens in it does not depend on how
    many other rows there are.
    """

    def __init__(self, control: Control, n_envs: int, *, seed: int | None = None) -> None:
        self._buffers = Buffers(n_envs, *control.obs_shape, dtype=control.obs_type)
        self.control: Final = control
        self.n_envs: Final = n_envs
        self.obs_size: Final = control.obs_size
        self.n_actions: Final = control.n_actions
        self.act_size: Final = control.act_size
        self.act_low: Final = np.array(control.act_low, np.float32)
        self.act_high: Final = np.array(control.act_high, np.float32)
        # (n_envs, state_size) float64, (n_envs,) and (n_envs,): to be looked at, or written to.
        self.states: Final[States] = np.zeros((n_envs, control.state_size))
        self.elapsed: Final[Elapsed] = np.zeros(n_envs, np.int64)
        self.chance: Final[Chance] = streams(seed, n_envs)
        self._allowed = _allowed(control)
        self._action_shape = (n_envs, self.act_size) if self.act_size else (n_envs,)
        self._action_type: type[np.generic] = np.float32 if self.act_size else np.int64
        self.reset()

    @property
    def obs(self) -> Observations:
        return self._buffers.obs

    def reset(self, seed: int | None = None) -> Observations:
        if seed is not None:
            self.chance[:] = streams(seed, self.n_envs)
        reset_rows(self.control.params, self.states, self.elapsed, self.chance, self.obs)
        return self.obs

    def step(self, actions: Any) -> Step:
        """One action everywhere; continuous ones beyond their bounds count as at the bounds."""
        actions = checked_actions(actions, self._action_shape, self._action_type)
        to = self._buffers.upcoming
        bad = step_rows(
            self.control.params, self.control.max_steps, *self._allowed,
            self.states, self.elapsed, self.chance, actions,
            to.obs_t, to.r_t, to.terminated, to.truncated, to.next_obs,
        )  # fmt: skip
        if bad != NONE_BAD:
            raise IllegalAction(f"row {bad}: {_wanted(self.control)}, not {actions[bad]}.")
        return self._buffers.turn()

    def snapshot(self) -> Snapshot:
        return Snapshot(self.states.copy(), self.elapsed.copy(), self.chance.copy())

    def restore(self, snapshot: Snapshot) -> Observations:
        """Go on from a snapshot, bit for bit."""
        if snapshot.states.shape != self.states.shape:
            raise SettingError(
                f"a snapshot of states {snapshot.states.shape} does not fit a batch of "
                f"{self.states.shape}: restore it into one like that it was taken from."
            )
        self.states[:] = snapshot.states
        self.elapsed[:] = snapshot.elapsed
        self.chance[:] = snapshot.chance
        observe_rows(self.control.params, self.states, self.obs)
        return self.obs


def _allowed(control: Control) -> tuple[float, float]:
    """Numbered actions have to exist; continuous ones only have to be finite."""
    if control.n_actions:
        return 0.0, control.n_actions - 1.0
    largest = float(np.finfo(np.float32).max)
    return -largest, largest


def _wanted(control: Control) -> str:
    if control.n_actions:
        return f"an action is a whole number from 0 to {control.n_actions - 1}"
    return "an action is made of finite numbers"
