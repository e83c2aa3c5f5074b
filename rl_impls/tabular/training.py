"""The loops that play and learn, and the evaluation of a table.

A step is one action, what the environment answers, one update.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.model import DRAWS, Actions, BatchEnv, Flags, Model, Rewards, States
from rl_impls.envs.tabular import TabularEnv
from rl_impls.errors import SettingError

if TYPE_CHECKING:
    from rl_impls.tabular.learner import QLearner


@dataclass(frozen=True, slots=True)
class TableTransitions:
    """Many transitions, one array a field; row i of every array is transition i, and rows are in
    order of time.

    `masks_t` holds the legal actions of `s_t`; without it all are. A terminated transition has no
    future: neither its `s_t` nor its mask is looked at.
    """

    s_tm1: States  # (n,)
    a_tm1: Actions  # (n,)
    r_t: Rewards  # (n,)
    s_t: States  # (n,)
    terminated: Flags  # (n,)
    masks_t: Flags | None = None  # (n, n_actions)

    def __len__(self) -> int:
        return len(self.s_tm1)


# How often each pair was learned: an array of the table's shape, or from pair to number.
Visits = NDArray[np.uint32] | MutableMapping[tuple[int, int], int] | None


@dataclass(frozen=True, slots=True)
class Training:
    """The work of a training: steps, ended episodes and their rewards."""

    steps: int
    episodes: int  # that ended
    reward_sum: float

    def __add__(self, other: Training) -> Training:
        return Training(
            self.steps + other.steps,
            self.episodes + other.episodes,
            self.reward_sum + other.reward_sum,
        )


def train(
    learner: QLearner,
    env: TabularEnv,
    *,
    steps: int | None = None,
    episodes: int | None = None,
    visits: Visits = None,
) -> Training:
    """Play and learn until so many steps are made or episodes ended; an unfinished one can be gone
    on with."""
    check_fit(learner, env.n_states, env.n_actions)
    check_count("steps", steps)
    n_steps = n_episodes = 0
    reward_sum = 0.0
    while n_steps != steps and n_episodes != episodes:
        s_tm1, legal_tm1 = (env.state, env.legal) if env.running else env.reset()
        a_tm1 = learner.act(s_tm1, legal_tm1)
        s_t, r_t, terminated, _, legal_t = env.step(a_tm1)
        learner.learn(s_tm1, a_tm1, r_t, s_t, terminated=terminated, legal_t=legal_t)
        n_steps += 1
        reward_sum += r_t
        if visits is not None:
            visits[s_tm1, a_tm1] += 1
        if not env.running:
            n_episodes += 1
            learner.end_episodes()
    if steps is not None:
        learner.flush()
    return Training(n_steps, n_episodes, reward_sum)


def train_batch(
    learner: QLearner, env: BatchEnv, n_steps: int, *, visits: NDArray[np.uint32] | None = None
) -> Training:
    """Act, step and learn in all environments at once, row by row in order.

    Whole rounds are played: the steps made are `n_steps` rounded up to a multiple of the batch.
    """
    check_fit(learner, env.model.n_states, env.model.n_actions)
    check_count("steps", n_steps)
    masks = None if learner.adopt(env.model) else env.model.masks
    n_rounds = -(-n_steps // env.n_envs)
    n_episodes = 0
    reward_sum = 0.0
    for _ in range(n_rounds):
        s_tm1 = env.states.copy()
        a_tm1 = learner.act_batch(s_tm1, None if masks is None else masks[s_tm1])
        step = env.step(a_tm1)
        masks_t = None if masks is None else masks[step.s_t]
        learner.learn_batch(
            TableTransitions(s_tm1, a_tm1, step.r_t, step.s_t, step.terminated, masks_t)
        )
        if visits is not None:
            np.add.at(visits, (s_tm1, a_tm1), 1)
        if step.n_episodes:
            learner.end_episodes(step.n_episodes)
        n_episodes += step.n_episodes
        reward_sum += step.reward_sum
    learner.flush()
    return Training(n_rounds * env.n_envs, n_episodes, reward_sum)


def check_fit(learner: QLearner, n_states: int, n_actions: int) -> None:
    """Refuse a table of another size: it would be read at the wrong place, or not at all."""
    if (learner.n_states, learner.n_actions) != (n_states, n_actions):
        raise SettingError(
            f"the learner's table has {learner.n_states} states and {learner.n_actions} actions, "
            f"the environment {n_states} and {n_actions}: make the learner with the latter."
        )


def check_count(what: str, n: int | None) -> None:
    if n is not None and n < 0:
        raise SettingError(f"the number of {what} cannot be negative, as {n} is.")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Episodes played to their end; a win is a return above 0, a loss one below."""

    episodes: int
    steps: int
    wins: int
    losses: int
    mean_return: float

    @property
    def win_rate(self) -> float:
        return self.wins / self.episodes

    @property
    def loss_rate(self) -> float:
        return self.losses / self.episodes


def evaluate(learner: QLearner, env: TabularEnv, episodes: int, *, seed: int = 0) -> Evaluation:
    """Play `episodes` from their start; all at once where the environment has a model.

    Only an environment without a model is played, and reset; hand over one that is not trained on.
    """
    if env.model is not None:
        return _play_model(learner, env.model, episodes, np.random.default_rng(seed))
    returns, steps = [], 0
    for _ in range(episodes):
        state, legal = env.reset()
        total = 0.0
        while env.running:
            state, reward, _, _, legal = env.step(learner.greedy(state, legal))
            total += reward
            steps += 1
        returns.append(total)
    return _summary(np.array(returns), steps)


def _play_model(
    learner: QLearner, model: Model, episodes: int, rng: np.random.Generator
) -> Evaluation:
    policy = np.where(model.masks, learner.table(), -np.inf).argmax(axis=1)
    returns = np.zeros(episodes)
    running = np.arange(episodes)
    states = model.reset_batch(rng.integers(DRAWS, size=episodes, dtype=np.uint32))
    steps = 0
    while len(running):
        draws = rng.integers(DRAWS, size=len(running), dtype=np.uint32)
        states, rewards, terminated = model.step_batch(states, policy[states], draws)
        returns[running] += rewards
        steps += len(running)
        running, states = running[~terminated], states[~terminated]
    return _summary(returns, steps)


def _summary(returns: np.ndarray[tuple[int], np.dtype[np.float64]], steps: int) -> Evaluation:
    return Evaluation(
        episodes=len(returns),
        steps=steps,
        wins=int((returns > 0).sum()),
        losses=int((returns < 0).sum()),
        mean_return=float(returns.mean()),
    )
