"""Many environments of one model at once, in arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from rl_impls.envs.model import DRAWS, Actions, Draws, Flags, Model, Rewards, States
from rl_impls.envs.single import FORFEIT
from rl_impls.errors import SettingError
from rl_impls.jit import has_numba

# Random numbers come a thousand rows at a time: asked for singly, they cost as much as a step.
ROWS_OF_CHANCE: Final = 1024


@dataclass(frozen=True, slots=True)
class BatchStep:
    """What one step of every environment gave. The next step overwrites these arrays."""

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
        """The same, where the rows `illegal` lose their episode where it stands."""
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
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[States, dict[str, Any]]:
        if isinstance(seed, list):
            raise SettingError("a batch has one stream of chance: give one seed, not a list.")
        super().reset(seed=seed)
        states = self.batch.reset(seed=seed).copy()
        return states, {"action_mask": self._masks[states]}

    def step(self, actions: Actions) -> tuple[States, Rewards, Flags, Flags, dict[str, Any]]:
        actions = np.asarray(actions, np.int64)
        illegal = np.flatnonzero(~self.batch.model.masks[self.batch.states, actions])
        step = (
            self.batch.step_or_forfeit(actions, illegal)
            if len(illegal)
            else (self.batch.step(actions))
        )
        states = self.batch.states.copy()
        info: dict[str, Any] = {"action_mask": self._masks[states]}
        if step.n_episodes:
            info |= {"final_obs": step.s_t.copy(), "_final_obs": step.terminated.copy()}
        truncated = np.zeros(self.num_envs, np.bool_)
        return states, step.r_t.astype(np.float64), step.terminated.copy(), truncated, info
