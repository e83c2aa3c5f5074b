"""Any Gymnasium environment with few states and actions, seen as a table sees it: by number."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import prod
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker

from rl_impls.envs.model import Info, Model, ModelEnv
from rl_impls.envs.spaces import brief
from rl_impls.errors import SpaceError

Legal = tuple[int, ...] | None  # the actions that may be taken; None where all may


class TabularEnv:
    """States and actions count from 0; `state` and `legal` are where the agent acts next.

    `model` is there when nothing but Gymnasium's checks stands between the caller and a model's
    rules: then a learner may play them itself, and hand the episode back with `place`.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], *, seed: int | None = None) -> None:
        inner = _without_checks(env)
        self.model: Final[Model | None] = inner.model if isinstance(inner, ModelEnv) else None
        # What Gymnasium's own wrappers check is checked by ModelEnv too, and faster.
        self._env = inner if isinstance(inner, ModelEnv) else env
        self.n_states, self._state_of = state_numbering(env.observation_space)
        self.n_actions, self._first_action = _action_numbering(env.action_space)
        self.state = 0
        self.legal: Legal = None
        self.running = False
        self._seed = seed
        self._known_masks: dict[bytes, tuple[int, ...]] = {}

    def reset(self) -> tuple[int, Legal]:
        """Begin an episode. The seed counts once: episodes that follow one another differ."""
        observation, info = self._env.reset(seed=self._seed)
        self._seed = None
        self.running = True
        self.state, self.legal = self._state_of(observation), self._legal_in(info)
        return self.state, self.legal

    def step(self, action: int) -> tuple[int, float, bool, bool, Legal]:
        """Return (state, reward, terminated, truncated, legal actions)."""
        if self.model is not None:
            self.state, reward, terminated = self._model_env().play(action)
            self.legal = self.model.legal[self.state]
            self.running = not terminated
            return self.state, reward, terminated, False, self.legal
        observation, r_t, terminated, truncated, info = self._env.step(action + self._first_action)
        self.running = not (terminated or truncated)
        self.state, self.legal = self._state_of(observation), self._legal_in(info)
        return self.state, float(r_t), terminated, truncated, self.legal

    @property
    def chance(self) -> random.Random:
        """The stream that a model's environment takes its draws from."""
        return self._model_env().chance

    def place(self, state: int, *, running: bool) -> None:
        """Go on from a state that a learner reached by playing the model."""
        env = self._model_env()
        env.place(state, running=running)
        self.state, self.legal, self.running = state, env.model.legal[state], running

    def _model_env(self) -> ModelEnv:
        assert isinstance(self._env, ModelEnv), "only asked for where there is a model"
        return self._env

    def _legal_in(self, info: Info) -> Legal:
        mask = info.get("action_mask")
        if mask is None:
            return None
        key = mask.tobytes()
        legal = self._known_masks.get(key)
        if legal is None:
            legal = self._known_masks[key] = tuple(np.flatnonzero(mask).tolist())
        return legal


def make_tabular(name: str, *, seed: int | None = None, **arguments: Any) -> TabularEnv:
    """Make `gymnasium.make(name, **arguments)`, seen by number."""
    return TabularEnv(gymnasium.make(name, **arguments), seed=seed)


def state_numbering(space: spaces.Space[Any]) -> tuple[int, Callable[[Any], int]]:
    """Return how many observations a space has, and what numbers each."""
    match space:
        case spaces.Discrete():
            first = int(space.start)
            return int(space.n), (
                int if first == 0 else lambda observation: int(observation) - first
            )
        case spaces.MultiDiscrete() if space.nvec.ndim == 1:
            sizes, firsts = space.nvec.tolist(), space.start.tolist()
        case spaces.Tuple() if all(isinstance(part, spaces.Discrete) for part in space.spaces):
            sizes = [int(part.n) for part in space.spaces]  # type: ignore[attr-defined]
            firsts = [int(part.start) for part in space.spaces]  # type: ignore[attr-defined]
        case _:
            raise SpaceError(
                f"a table cannot hold observations from {brief(space)}: choose an environment "
                "whose observation space is Discrete, MultiDiscrete or a Tuple of Discrete, or a "
                "deep agent."
            )

    def number(observation: Any) -> int:
        """Number an observation in mixed radix: the last component counts singly."""
        n = 0
        for value, first, size in zip(observation, firsts, sizes, strict=True):
            n = n * size + int(value) - first
        return n

    return prod(sizes), number


def _action_numbering(space: spaces.Space[Any]) -> tuple[int, int]:
    if not isinstance(space, spaces.Discrete):
        raise SpaceError(
            f"a table cannot hold actions from {brief(space)}: choose an environment whose action "
            "space is Discrete, or a deep agent."
        )
    return int(space.n), int(space.start)


def _without_checks(env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    while isinstance(env, OrderEnforcing | PassiveEnvChecker):
        env = env.env
    return env
