"""The loop: it knows an agent's `act` and `observe`, and nothing of how it learns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.agents.agent import Agent, Array, DeepAgent, Plays, State, at_least, shape_of
from rl_impls.envs.control.make import make_batch
from rl_impls.envs.control.step import ControlBatch, Step
from rl_impls.errors import SettingError
from rl_impls.replay.layout import Transitions
from rl_impls.replay.uniform import Ring

# Called after each step of the batch; whoever returns True ends the training.
Hook = Callable[[Agent, Step], bool]


def train(agent: Agent, env: ControlBatch, n_steps: int, *, hooks: Sequence[Hook] = ()) -> int:
    """Let the agent act and learn for `n_steps` steps of all environments together.

    The batch goes on from where it stands, and steps as a whole: the last one may lead beyond
    `n_steps`. Returns how many steps there were.
    """
    at_least(1, n_steps=n_steps)
    check_fits(agent, env)
    start = agent.n_steps
    goal = start + n_steps
    obs = env.obs
    while agent.n_steps < goal:
        step = env.step(agent.act(obs))
        agent.observe(step)
        obs = step.next_obs
        # Every hook sees every step, whatever another one decides.
        if hooks and True in [hook(agent, step) for hook in hooks]:
            break
    return agent.n_steps - start


def check_fits(agent: Agent, env: ControlBatch) -> None:
    shape = shape_of(env)
    if agent.shape != shape:
        raise SettingError(
            f"the agent was made for {agent.shape}, and these environments are {shape}: "
            "make one with shape_of(env)."
        )


# How good an agent is, on environments of its own and without exploration.


def evaluate(
    agent: Plays, env_name: str, episodes: int = 100, *, seed: int = 0, **arguments: Any
) -> NDArray[np.float64]:
    """The return of each of `episodes` greedy episodes, undiscounted.

    Each is played in an environment of its own, all at once: who counted the first episodes to end
    would count the short ones.
    """
    at_least(1, episodes=episodes)
    env = make_batch(env_name, episodes, seed=seed, **arguments)
    player = agent.player(episodes) if isinstance(agent, DeepAgent) else agent
    returns = np.zeros(episodes)
    running = np.ones(episodes, np.bool_)
    while running.any():
        step = env.step(player.greedy(env.obs))
        np.add(returns, step.r_t, out=returns, where=running)
        running &= ~(step.terminated | step.truncated)
    if hasattr(env, "close"):
        env.close()
    return returns


# Steps of a batch into a replay.


def store(replay: Ring, step: Step, a_tm1: Array) -> None:
    """Each with where it led, `obs_t`: a truncated episode has a value there."""
    if len(a_tm1) == 1:  # without a look at each array, which costs more than one row
        replay.add(
            step.obs_tm1[0], a_tm1[0], step.r_t[0], step.obs_t[0], step.terminated[0]
        )  # fmt: skip
        return
    replay.add_batch(Transitions(step.obs_tm1, a_tm1, step.r_t, step.obs_t, step.terminated))


# The best parameters so far, by validation.


class BestCheckpoint:
    """Keeps a copy of an agent's parameters whenever no validation before was better.

    A training may unlearn what it had found; the best that was validated is not lost with it. Of
    equals it is the last: where returns have a ceiling, the first to touch it was lucky.
    """

    def __init__(self, validate: Callable[[Agent], float]) -> None:
        self.best = -math.inf
        self.n_validations = 0
        self.n_since_best = 0
        self._validate: Final = validate
        self._kept: list[Array] = []

    def judge(self, agent: Agent) -> None:
        """Validate the agent as it is now."""
        score = float(self._validate(agent))
        if math.isnan(score):
            raise SettingError("a validation returned NaN: return the mean of finite returns.")
        self.n_validations += 1
        self.n_since_best = 0 if score > self.best else self.n_since_best + 1
        if score >= self.best:
            self.best = score
            self._kept = [array.copy() for array in agent.parameters()]

    def restore_best(self, agent: Agent) -> None:
        """Give the agent the parameters of the best validation, if there was one."""
        if self._kept:
            agent.set_parameters(self._kept)

    def state(self) -> State:
        kept = {f"kept_{i}": array.copy() for i, array in enumerate(self._kept)}
        return {"best": np.array(self.best), "counts": np.array(self._counts()), **kept}

    def set_state(self, state: Mapping[str, Array]) -> None:
        self.best = float(state["best"])
        self._set_counts([int(count) for count in state["counts"]])
        self._kept = [state[f"kept_{i}"].copy() for i in range(len(state) - 2)]

    def _counts(self) -> list[int]:
        return [self.n_validations, self.n_since_best]

    def _set_counts(self, counts: list[int]) -> None:
        self.n_validations, self.n_since_best = counts


# An end to trainings that no longer get better, with the best parameters kept.


class EarlyStopping(BestCheckpoint):
    """A hook of `train`: validates after every `every` steps, and ends the training after
    `patience` validations in a row that were no better than the best.

    The agent then gets the parameters of the best validation back. Where the training ends for
    another reason, `restore_best` does the same.
    """

    def __init__(
        self, validate: Callable[[Agent], float], *, every: int, patience: int = 10
    ) -> None:
        at_least(1, every=every, patience=patience)
        super().__init__(validate)
        self.every: Final = every
        self.patience: Final = patience
        self._next = every

    def __call__(self, agent: Agent, step: Step) -> bool:
        if agent.n_steps < self._next:
            return False
        self._next = agent.n_steps - agent.n_steps % self.every + self.every
        self.judge(agent)
        if self.n_since_best < self.patience:
            return False
        self.restore_best(agent)
        return True

    def _counts(self) -> list[int]:
        return [*super()._counts(), self._next]

    def _set_counts(self, counts: list[int]) -> None:
        *common, self._next = counts
        super()._set_counts(common)
