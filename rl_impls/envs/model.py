"""Environments with few states: a model of pure functions, one of it, and many of it at once.

A model is told chance as a *draw*: 32 random bits, handed in by the caller. So one set of rules
serves the single environment, the batched one and compiled code, and equal draws give equal games
in all three.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from rl_impls.errors import IllegalAction, SettingError
from rl_impls.jit import has_numba

DRAW_BITS: Final = 32
DRAWS: Final = 1 << DRAW_BITS

States = NDArray[np.int64]
Actions = NDArray[np.int64]
Draws = NDArray[np.uint32]
Rewards = NDArray[np.float32]
Flags = NDArray[np.bool_]
Info = dict[str, Any]  # what Gymnasium lets an environment tell beside its observation


class Model(Protocol):
    """The rules of an environment. No method checks whether an action is legal."""

    n_states: int
    n_actions: int
    # For each state the actions that may be taken there; none once the episode has ended.
    legal: list[tuple[int, ...]]
    masks: Flags  # (n_states, n_actions): the same as an array
    # A NamedTuple of arrays and numbers, for which envs.compiled has the rules; or None.
    tables: Any

    def reset(self, draw: int) -> int:
        """Return the first state of an episode."""

    def step(self, state: int, action: int, draw: int) -> tuple[int, float, bool]:
        """Return the next state, the reward, and whether the episode terminated."""

    def reset_batch(self, draws: Draws) -> States:
        """Return `reset` for each draw."""

    def step_batch(
        self, states: States, actions: Actions, draws: Draws
    ) -> tuple[States, Rewards, Flags]:
        """Return `step` for each row."""


# An illegal action ends the episode as a loss where it stands: an agent that ignores the mask still
# finishes its episodes.
FORFEIT: Final = -1.0


class ModelEnv(gymnasium.Env[np.int64, np.int64]):
    """Plays a model's rules. `info["action_mask"]` holds 1 for each legal action.

    A seed begins a stream of chance, and a reset without one goes on with it: equal seeds give
    equal episodes, and the episodes that follow one another differ.
    """

    def __init__(self, model: Model, *, render_mode: str | None = None) -> None:
        self.model = model
        self.render_mode = render_mode
        self.observation_space = Discrete(model.n_states)
        self.action_space = Discrete(model.n_actions)
        self.state = 0
        self.running = False
        # Python's generator: a draw costs a tenth of what NumPy asks for a single number.
        self.chance = random.Random()

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        super().reset(seed=seed)
        if seed is not None:
            self.chance.seed(seed)
        self.state = self.model.reset(self.chance.getrandbits(DRAW_BITS))
        self.running = True
        return self.state, self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        state, reward, terminated = self.play(action)
        return state, reward, terminated, False, self._info()

    def play(self, action: int) -> tuple[int, float, bool]:
        """Step without what Gymnasium adds to it, and return (state, reward, terminated)."""
        if not self.running:
            raise IllegalAction("no episode is running: call reset() first.")
        if action in self.model.legal[self.state]:
            draw = self.chance.getrandbits(DRAW_BITS)
            self.state, reward, terminated = self.model.step(self.state, action, draw)
        else:
            reward, terminated = FORFEIT, True
        self.running = not terminated
        return self.state, reward, terminated

    def _info(self) -> Info:
        return {"action_mask": self.model.masks[self.state].astype(np.int8)}

    def place(self, state: int, *, running: bool) -> None:
        """Go on from here: what played the model itself hands the episode back."""
        self.state = state
        self.running = running


# Random numbers come a thousand rows at a time: asked for singly, they cost as much as a step.
ROWS_OF_CHANCE: Final = 1024


@dataclass(frozen=True, slots=True)
class BatchStep:
    """The results of one step of every environment. The next step overwrites these arrays."""

    s_t: States  # where the action led, the last state of an episode included
    r_t: Rewards
    terminated: Flags
    n_episodes: int  # how many ended with this step
    reward_sum: float


class BatchEnv:
    """`n_envs` episodes side by side; one that ends is followed by the next in the same step.

    `states` is where the agent acts next. Where numba is installed and knows the model's rules, a
    step is compiled; otherwise it is NumPy. Both follow the same draws to the same games.
    """

    def __init__(
        self, model: Model, n_envs: int, *, seed: int | None = None, compile_step: bool = True
    ) -> None:
        if n_envs < 1:
            raise SettingError(f"a batch has at least 1 environment, not {n_envs}.")
        self.model: Final = model
        self.n_envs: Final = n_envs
        self.states: States = np.zeros(n_envs, np.int64)
        self._s_t: States = np.zeros(n_envs, np.int64)
        self._r_t: Rewards = np.zeros(n_envs, np.float32)
        self._terminated: Flags = np.zeros(n_envs, np.bool_)
        self._step_rows = _compiled_step(model) if compile_step else None
        self._advance = self._step_numpy if self._step_rows is None else self._step_compiled
        self.reset(seed=seed)

    def reset(self, *, seed: int | None = None) -> States:
        """Begin new episodes everywhere. Without a seed the stream of chance goes on."""
        if seed is not None or not hasattr(self, "_rng"):
            self._rng = np.random.default_rng(seed)
            self._chance = np.empty((0, self.n_envs), np.uint32)
            self._row = 0
        self.states[:] = self.model.reset_batch(self._draws())
        return self.states

    def step(self, actions: Actions) -> BatchStep:
        """Take one action in every environment; their legality is the caller's to see to."""
        n_episodes, reward_sum = self._advance(actions, self._draws(), self._draws())
        return BatchStep(self._s_t, self._r_t, self._terminated, n_episodes, reward_sum)

    def step_or_forfeit(self, actions: Actions, illegal: NDArray[np.intp]) -> BatchStep:
        """Step, where the rows `illegal` lose their episode where it stands."""
        stays = self.states[illegal]
        some_legal = self.model.masks[stays].argmax(axis=1)
        actions = actions.copy()
        actions[illegal] = some_legal
        self.step(actions)
        self._s_t[illegal] = stays
        self._r_t[illegal] = FORFEIT
        self._terminated[illegal] = True
        self.states[illegal] = self.model.reset_batch(self._draws()[illegal])
        return BatchStep(
            self._s_t, self._r_t, self._terminated,
            int(self._terminated.sum()), float(self._r_t.sum()),
        )  # fmt: skip

    def _draws(self) -> Draws:
        if self._row == len(self._chance):
            size = (ROWS_OF_CHANCE, self.n_envs)
            self._chance = self._rng.integers(DRAWS, size=size, dtype=np.uint32)
            self._row = 0
        self._row += 1
        draws: Draws = self._chance[self._row - 1]
        return draws

    def _step_numpy(self, actions: Actions, draws: Draws, reset_draws: Draws) -> tuple[int, float]:
        self._s_t, self._r_t, self._terminated = self.model.step_batch(self.states, actions, draws)
        self.states[:] = self._s_t
        ended = np.flatnonzero(self._terminated)
        if len(ended):
            self.states[ended] = self.model.reset_batch(reset_draws[ended])
        return len(ended), float(self._r_t.sum())

    def _step_compiled(
        self, actions: Actions, draws: Draws, reset_draws: Draws
    ) -> tuple[int, float]:
        assert self._step_rows is not None
        return self._step_rows(
            self.model.tables, self.states, actions, draws, reset_draws,
            self._s_t, self._r_t, self._terminated,
        )  # fmt: skip


def _compiled_step(model: Model) -> Callable[..., tuple[int, float]] | None:
    if not has_numba():
        return None
    from rl_impls.envs.compiled import has_rules, step_rows

    return step_rows if has_rules(model.tables) else None


class ModelVectorEnv(VectorEnv[States, Actions, Any]):
    """A batch with Gymnasium's vector interface: an ended episode is reset in the same step.

    `info["action_mask"]` belongs to the returned observations; where an episode ended,
    `info["final_obs"]` holds its last state and `info["_final_obs"]` says where that is.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, model: Model, num_envs: int) -> None:
        self.num_envs = num_envs
        self.single_observation_space = Discrete(model.n_states)
        self.single_action_space = Discrete(model.n_actions)
        self.observation_space = MultiDiscrete([model.n_states] * num_envs)
        self.action_space = MultiDiscrete([model.n_actions] * num_envs)
        self.batch: Final = BatchEnv(model, num_envs)
        self._masks = model.masks.astype(np.int8)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: Info | None = None
    ) -> tuple[States, Info]:
        if isinstance(seed, list):
            raise SettingError("a batch has one stream of chance: give one seed, not a list.")
        super().reset(seed=seed)
        states = self.batch.reset(seed=seed).copy()
        return states, {"action_mask": self._masks[states]}

    def step(self, actions: Actions) -> tuple[States, Rewards, Flags, Flags, Info]:
        actions = np.asarray(actions, np.int64)
        illegal = np.flatnonzero(~self.batch.model.masks[self.batch.states, actions])
        step = (
            self.batch.step_or_forfeit(actions, illegal)
            if len(illegal)
            else (self.batch.step(actions))
        )
        states = self.batch.states.copy()
        info: Info = {"action_mask": self._masks[states]}
        if step.n_episodes:
            info |= {"final_obs": step.s_t.copy(), "_final_obs": step.terminated.copy()}
        truncated = np.zeros(self.num_envs, np.bool_)
        return states, step.r_t.astype(np.float64), step.terminated.copy(), truncated, info
