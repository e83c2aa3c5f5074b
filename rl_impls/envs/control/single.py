"""One compiled environment with Gymnasium's interface."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from rl_impls.envs.control.cartpole import cartpole
from rl_impls.envs.control.pendulum import GRAVITY, pendulum
from rl_impls.envs.control.reactor import CRITICAL, LIMITED, N_VIOLATIONS, PASSED, reactor
from rl_impls.envs.control.rows import reset_rows, step_single
from rl_impls.envs.control.rules import Control
from rl_impls.envs.control.side_scroller import side_scroller
from rl_impls.envs.control.step import Observations
from rl_impls.errors import IllegalAction
from rl_impls.splitmix import streams


class ControlEnv(gymnasium.Env[Observations, Any]):
    """Plays the rules of a row of a batch; `gymnasium.make` adds the time limit.

    A seed begins a stream of chance, the one of a batch's first row, and a reset without one goes
    on with it. `states` and `chance` have one row, to be looked at or written to.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, control: Control, *, render_mode: str | None = None) -> None:
        self.control = control
        self.render_mode = render_mode
        self.observation_space = _observed(control)
        self.action_space = (
            spaces.Discrete(control.n_actions)
            if control.n_actions
            else _box(control.act_low, control.act_high)
        )
        self.states = np.zeros((1, control.state_size))
        self.chance = streams(None, 1)
        self.running = False
        self._obs = np.zeros((1, *control.obs_shape), control.obs_type)
        self._elapsed = np.zeros(1, np.int64)
        self._actions: Any = (
            np.zeros(1, np.int64)
            if control.n_actions
            else np.zeros((1, control.act_size), np.float32)
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.chance[:] = streams(seed, 1)
        reset_rows(self.control.params, self.states, self._elapsed, self.chance, self._obs)
        self.running = True
        return self._obs[0].copy(), self._info()

    def step(self, action: Any) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        if not self.running:
            raise IllegalAction("no episode is running: call reset() first.")
        self._take(action)
        r_t, terminated = step_single(self.control.params, self.states, self._actions, self._obs)
        self.running = not terminated
        return self._obs[0].copy(), r_t, terminated, False, self._info()

    def _take(self, action: Any) -> None:
        if self.control.n_actions:
            if not self.action_space.contains(action):
                raise IllegalAction(
                    f"an action is a whole number from 0 to {self.control.n_actions - 1}, "
                    f"not {action!r}."
                )
            self._actions[0] = action
            return
        found = np.asarray(action, np.float32)
        if found.shape != self.action_space.shape or not np.isfinite(found).all():
            raise IllegalAction(
                f"an action is made of {self.control.act_size} finite numbers, not {action!r}."
            )
        self._actions[0] = found

    def _info(self) -> dict[str, Any]:
        return {}


class CartPoleEnv(ControlEnv):
    """`gymnasium.make("rl_impls/CartPole-v1")`."""

    def __init__(
        self, *, sutton_barto_reward: bool = False, render_mode: str | None = None
    ) -> None:
        super().__init__(cartpole(sutton_barto_reward=sutton_barto_reward), render_mode=render_mode)


class PendulumEnv(ControlEnv):
    """`gymnasium.make("rl_impls/Pendulum-v1")`."""

    def __init__(self, *, g: float = GRAVITY, render_mode: str | None = None) -> None:
        super().__init__(pendulum(g=g), render_mode=render_mode)


class ChemicalReactorEnv(ControlEnv):
    """`gymnasium.make("ChemicalReactor-v0", constraints=True, scaled=False)`.

    `info` names the limits that the last step passed: `violations` (soft) and `critical`; in
    `n_violations` it counts the soft ones of the episode, one for each step and limit.
    """

    def __init__(
        self, *, constraints: bool = True, scaled: bool = False, render_mode: str | None = None
    ) -> None:
        super().__init__(reactor(constraints=constraints, scaled=scaled), render_mode=render_mode)

    def _info(self) -> dict[str, Any]:
        passed = int(self.states[0, PASSED])
        return {
            "violations": limits_named(passed),
            "critical": limits_named(passed // CRITICAL),
            "n_violations": int(self.states[0, N_VIOLATIONS]),
        }


class SideScrollerEnv(ControlEnv):
    """`gymnasium.make("rl_impls/SideScroller-v0")`."""

    def __init__(self, *, render_mode: str | None = None) -> None:
        super().__init__(side_scroller(), render_mode=render_mode)


def limits_named(bits: int) -> tuple[str, ...]:
    return tuple(name for i, name in enumerate(LIMITED) if bits >> i & 1) if bits else ()


def _observed(control: Control) -> Any:
    if control.frame:
        return spaces.Box(0, 255, control.frame, np.uint8)
    return _box(control.obs_low, control.obs_high)


def _box(low: tuple[float, ...], high: tuple[float, ...]) -> Any:
    return spaces.Box(np.array(low, np.float32), np.array(high, np.float32), dtype=np.float32)
