"""Compiled environments: the loops over rows, a batch of them, and one with Gymnasium's
interface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rl_impls import splitmix
from rl_impls.envs.control import cartpole, pendulum, reactor, rules, side_scroller
from rl_impls.envs.control.rules import Control, observe_row, reset_row, step_row
from rl_impls.envs.control.step import Buffers, Floats, Observations, Step, checked_actions
from rl_impls.envs.model import Flags, Info
from rl_impls.errors import IllegalAction, SettingError
from rl_impls.jit import compiled, inlined, version_of
from rl_impls.splitmix import Chance, streams

States = NDArray[np.float64]
Elapsed = NDArray[np.int64]

NONE_BAD = -1


@inlined
def first_bad(actions: Any, low: float, high: float) -> int:
    """Return the first row with an action outside [low, high]; one that is no number always is."""
    flat = actions.ravel()
    for i in range(len(flat)):
        if not low <= flat[i] <= high:
            return i // (len(flat) // len(actions))
    return NONE_BAD


@inlined
def copy(source: Any, target: Any) -> None:
    """Copy all at once: row by row, a step of CartPole takes 9 % longer."""
    values, places = source.ravel(), target.ravel()
    for i in range(len(places)):
        places[i] = values[i]


def make_loops(version: int) -> tuple[Callable[..., Any], ...]:
    """Make the loops; `version` is that of the rules they will be compiled with."""

    @compiled
    def reset_rows(
        params: Any, states: States, elapsed: Elapsed, chance: Chance, obs: Observations
    ) -> None:
        """Begin an episode in every row."""
        _ = version
        for row in range(len(states)):
            reset_row(params, states, row, chance)
            elapsed[row] = 0
            observe_row(params, states, row, obs)

    @compiled
    def observe_rows(params: Any, states: States, obs: Observations) -> None:
        _ = version
        for row in range(len(states)):
            observe_row(params, states, row, obs)

    @compiled
    def step_rows(
        params: Any,
        max_steps: int,
        low: float,
        high: float,
        states: States,
        elapsed: Elapsed,
        chance: Chance,
        actions: Any,
        obs_t: Observations,
        r_t: Floats,
        terminated: Flags,
        truncated: Flags,
        next_obs: Observations,
    ) -> int:
        """Step every row, and begin the next episode where one ended.

        Returns the first row whose action is not allowed, before anything is changed, or -1.
        """
        _ = version
        bad = first_bad(actions, low, high)
        if bad != NONE_BAD:
            return bad
        for row in range(len(states)):
            r_t[row], terminated[row] = step_row(params, states, row, actions)
            observe_row(params, states, row, obs_t)
        copy(obs_t, next_obs)
        for row in range(len(states)):
            elapsed[row] += 1
            truncated[row] = elapsed[row] >= max_steps
            if terminated[row] or truncated[row]:
                reset_row(params, states, row, chance)
                elapsed[row] = 0
                observe_row(params, states, row, next_obs)
        return NONE_BAD

    @compiled
    def step_single(
        params: Any, states: States, actions: Any, obs: Observations
    ) -> tuple[float, bool]:
        """Step the first row, and stay where that leads."""
        _ = version
        r_t, terminated = step_row(params, states, 0, actions)
        observe_row(params, states, 0, obs)
        return r_t, terminated

    return reset_rows, observe_rows, step_rows, step_single


reset_rows, observe_rows, step_rows, step_single = make_loops(
    version_of(rules, cartpole, pendulum, reactor, reactor, side_scroller, rules, splitmix)
)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state from which a batch goes on exactly as it would have."""

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
        """Take one action everywhere; continuous ones beyond their bounds count as at the
        bounds."""
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
    """Return the bounds of actions: numbered ones have to exist, continuous ones to be finite."""
    if control.n_actions:
        return 0.0, control.n_actions - 1.0
    largest = float(np.finfo(np.float32).max)
    return -largest, largest


def _wanted(control: Control) -> str:
    if control.n_actions:
        return f"an action is a whole number from 0 to {control.n_actions - 1}"
    return "an action is made of finite numbers"


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
        self, *, seed: int | None = None, options: Info | None = None
    ) -> tuple[Observations, Info]:
        super().reset(seed=seed)
        if seed is not None:
            self.chance[:] = streams(seed, 1)
        reset_rows(self.control.params, self.states, self._elapsed, self.chance, self._obs)
        self.running = True
        return self._obs[0].copy(), self._info()

    def step(self, action: Any) -> tuple[Observations, float, bool, bool, Info]:
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
        numbers = np.asarray(action, np.float32)
        if numbers.shape != self.action_space.shape or not np.isfinite(numbers).all():
            raise IllegalAction(
                f"an action is made of {self.control.act_size} finite numbers, not {action!r}."
            )
        self._actions[0] = numbers

    def _info(self) -> Info:
        return {}


class CartPoleEnv(ControlEnv):
    """`gymnasium.make("rl_impls/CartPole-v1")`."""

    def __init__(
        self, *, sutton_barto_reward: bool = False, render_mode: str | None = None
    ) -> None:
        super().__init__(
            cartpole.cartpole(sutton_barto_reward=sutton_barto_reward), render_mode=render_mode
        )


class PendulumEnv(ControlEnv):
    """`gymnasium.make("rl_impls/Pendulum-v1")`."""

    def __init__(self, *, g: float = pendulum.GRAVITY, render_mode: str | None = None) -> None:
        super().__init__(pendulum.pendulum(g=g), render_mode=render_mode)


class ChemicalReactorEnv(ControlEnv):
    """`gymnasium.make("ChemicalReactor-v0", constraints=True, scaled=False)`.

    `info` names the limits that the last step passed: `violations` (soft) and `critical`; in
    `n_violations` it counts the soft ones of the episode, one for each step and limit.
    """

    def __init__(
        self, *, constraints: bool = True, scaled: bool = False, render_mode: str | None = None
    ) -> None:
        super().__init__(
            reactor.reactor(constraints=constraints, scaled=scaled), render_mode=render_mode
        )

    def _info(self) -> Info:
        passed = int(self.states[0, reactor.PASSED])
        return {
            "violations": limits_named(passed),
            "critical": limits_named(passed // reactor.CRITICAL),
            "n_violations": int(self.states[0, reactor.N_VIOLATIONS]),
        }


class SideScrollerEnv(ControlEnv):
    """`gymnasium.make("rl_impls/SideScroller-v0")`."""

    def __init__(self, *, render_mode: str | None = None) -> None:
        super().__init__(side_scroller.side_scroller(), render_mode=render_mode)


def limits_named(bits: int) -> tuple[str, ...]:
    return tuple(name for i, name in enumerate(reactor.LIMITED) if bits >> i & 1) if bits else ()


def _observed(control: Control) -> Any:
    if control.frame:
        return spaces.Box(0, 255, control.frame, np.uint8)
    return _box(control.obs_low, control.obs_high)


def _box(low: tuple[float, ...], high: tuple[float, ...]) -> Any:
    return spaces.Box(np.array(low, np.float32), np.array(high, np.float32), dtype=np.float32)
