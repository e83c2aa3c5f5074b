"""The evaluation of agents, on environments of their own and without exploration, and the best so
far."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from rl_impls.agents.agent import Agent, Array, DeepAgent, Plays, State, check_plays
from rl_impls.envs.control.compiled import CompiledBatch
from rl_impls.envs.control.make import (
    EnvSource,
    GymnasiumBatch,
    batch_of,
    make_batch,
)
from rl_impls.envs.control.step import ControlBatch
from rl_impls.errors import SettingError, at_least


@dataclass(frozen=True, slots=True)
class Played:
    """Greedy episodes: what each earned, undiscounted, and how many steps it had."""

    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    all_at_once: bool  # in compiled environments, where a step of all costs little more than one

    @property
    def cost(self) -> int:
        """What playing took, in steps of a training."""
        return int(self.lengths.max() if self.all_at_once else self.lengths.sum())


def evaluate(
    agent: Plays, env: EnvSource, episodes: int = 100, *, seed: int = 0, **arguments: Any
) -> NDArray[np.float64]:
    """Return what each of `episodes` greedy episodes earned, undiscounted.

    With a name or a function each is played in an environment of its own, all at once: who counted
    the first episodes to end would count the short ones. Environments that are handed over are
    reset, and each plays its equal share of the episodes.
    """
    return play(agent, env, episodes, seed=seed, **arguments).returns


def play(
    agent: Plays, env: EnvSource, episodes: int = 100, *, seed: int = 0, **arguments: Any
) -> Played:
    """Play episodes greedily; no environment of Gymnasium is stepped once it has played its own."""
    at_least(1, episodes=episodes)
    batch, is_ours = _place(env, episodes, seed, arguments)
    try:
        check_plays(agent, batch)
        return _play(agent, batch, episodes)
    finally:
        if is_ours and hasattr(batch, "close"):
            batch.close()


def _place(
    env: EnvSource, episodes: int, seed: int, arguments: Mapping[str, Any]
) -> tuple[ControlBatch, bool]:
    """Return where to play, newly reset, and whether it was made for that."""
    if isinstance(env, str | EnvSpec):
        return make_batch(env, episodes, seed=seed, **arguments), True
    batch = batch_of(env, episodes, seed=seed)
    if batch is env:
        batch.reset(seed)
    return batch, callable(env)


def _play(agent: Plays, env: ControlBatch, episodes: int) -> Played:
    player = agent.player(env.n_envs) if isinstance(agent, DeepAgent) else agent
    rows = np.arange(env.n_envs)
    left = episodes // env.n_envs + (rows < episodes % env.n_envs)
    next_of = np.cumsum(left) - left  # the episodes of a row lie side by side
    returns, lengths = np.zeros(episodes), np.zeros(episodes, np.int64)
    running = left > 0
    ended = ~running
    while running.any():
        if isinstance(env, GymnasiumBatch) and ended.any():
            env.rest(~running)
        step = env.step(player.greedy(env.obs))
        playing = np.flatnonzero(running)
        returns[next_of[playing]] += step.r_t[playing]
        lengths[next_of[playing]] += 1 if step.idle is None else ~step.idle[playing]
        ended = running & (step.terminated | step.truncated)
        if ended.any():
            left[ended] -= 1
            next_of[ended] += 1
            running = left > 0
            if hasattr(player, "end"):
                player.end(ended)
    all_at_once = isinstance(env, CompiledBatch) and env.obs.dtype != np.uint8
    return Played(returns, lengths, all_at_once)


# A validation step is cheaper than one of a training, which learns besides.
SHARE: Final = 0.25


class PacedValidation:
    """Plays the same episodes each time, and over a training no more than a share of its steps.

    `most` is what one validation can cost, in steps: where even that is more than is left, it is
    put off. Steps are counted, not seconds: the same training is validated at the same moments on
    every machine.
    """

    def __init__(self, play: Callable[[Plays], Played], *, most: int, share: float = SHARE) -> None:
        self._play: Final = play
        self._most: Final = most
        self._share: Final = share
        self.cost = 0  # so far

    def __call__(self, agent: Plays) -> float:
        played = self._play(agent)
        self.cost += played.cost
        return float(played.returns.mean())

    def is_affordable(self, n_steps: int) -> bool:
        """Tell whether so many steps of the training leave enough for one more."""
        return self.cost + self._most <= self._share * n_steps


class BestCheckpoint:
    """Keeps a copy of an agent's parameters whenever no validation before was better.

    A training may unlearn what it had found; the best that was validated is not lost with it. Of
    equals it is the last: where returns have a ceiling, the first to touch it was lucky. With
    `patience` a training is over after so many validations in a row that were no better than the
    best: the hook `runtimes.deep.Validate` then ends it, with the best parameters back. One of
    parameters that were judged before, as within a round of PPO, takes no patience.
    """

    def __init__(self, validate: Callable[[Agent], float], *, patience: int | None = None) -> None:
        if patience is not None:
            at_least(1, patience=patience)
        self.best = -math.inf
        self.n_validations = 0
        self.n_since_best = 0
        self.patience: Final = patience
        self._validate: Final = validate
        self._kept: list[Array] = []
        self._judged: int | None = None  # the checksum of the parameters that were

    @property
    def is_over(self) -> bool:
        """Tell whether patience has come to its end."""
        return self.patience is not None and self.n_since_best >= self.patience

    def judge(self, agent: Agent) -> None:
        """Validate the agent as it is now."""
        score = float(self._validate(agent))
        if math.isnan(score):
            raise SettingError("a validation returned NaN: return the mean of finite returns.")
        self.n_validations += 1
        before, self._judged = self._judged, _checksum(agent.parameters())
        if score > self.best:
            self.n_since_best = 0
        elif self._judged != before:
            self.n_since_best += 1
        if score >= self.best:
            self.best = score
            self._kept = [array.copy() for array in agent.parameters()]

    def restore_best(self, agent: Agent) -> None:
        """Give the agent the parameters of the best validation, if there was one."""
        if self._kept:
            agent.set_parameters(self._kept)

    def state(self) -> State:
        kept = {f"kept_{i}": array.copy() for i, array in enumerate(self._kept)}
        counts = np.array([self.n_validations, self.n_since_best])
        return {"best": np.array(self.best), "counts": counts, **kept}

    def set_state(self, state: Mapping[str, Array]) -> None:
        self.best = float(state["best"])
        # Files of an early release have a third count, of when to validate next.
        self.n_validations, self.n_since_best = (int(count) for count in state["counts"][:2])
        self._kept = [state[f"kept_{i}"].copy() for i in range(len(state) - 2)]


def _checksum(arrays: Sequence[Array]) -> int:
    checksum = 0
    for array in arrays:
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return checksum
