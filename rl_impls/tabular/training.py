"""The loops that play and learn. A step is one action, what the environment answers, one update."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.batch import BatchEnv
from rl_impls.envs.tabular import TabularEnv
from rl_impls.errors import SettingError
from rl_impls.tabular.transitions import Transitions

if TYPE_CHECKING:
    from rl_impls.tabular.learner import QLearner

# How often each pair was learned: an array of the table's shape, or from pair to number.
Visits = NDArray[np.uint32] | MutableMapping[tuple[int, int], int] | None


@dataclass(frozen=True, slots=True)
class Training:
    """What was done."""

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
    """Until so many steps are made or episodes ended; an unfinished one can be gone on with."""
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
        learner.learn_batch(Transitions(s_tm1, a_tm1, step.r_t, step.s_t, step.terminated, masks_t))
        if visits is not None:
            np.add.at(visits, (s_tm1, a_tm1), 1)
        if step.n_episodes:
            learner.end_episodes(step.n_episodes)
        n_episodes += step.n_episodes
        reward_sum += step.reward_sum
    learner.flush()
    return Training(n_rounds * env.n_envs, n_episodes, reward_sum)


def check_fit(learner: QLearner, n_states: int, n_actions: int) -> None:
    """A table of another size would be read at the wrong place, or not at all."""
    if (learner.n_states, learner.n_actions) != (n_states, n_actions):
        raise SettingError(
            f"the learner's table has {learner.n_states} states and {learner.n_actions} actions, "
            f"the environment {n_states} and {n_actions}: make the learner with the latter."
        )


def check_count(what: str, n: int | None) -> None:
    if n is not None and n < 0:
        raise SettingError(f"the number of {what} cannot be negative, as {n} is.")
