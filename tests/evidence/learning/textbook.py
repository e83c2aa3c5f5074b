"""Q-learning as a textbook has it (Sutton & Barto, 2018, section 6.5), in Gymnasium, by lists.

It has the schedules of ours, and breaks ties at random.
"""

from __future__ import annotations

import random
import time

import gymnasium

from rl_impls.envs.tabular import state_numbering
from rl_impls.tabular.learner import Settings
from tests.evidence.learning.played import EVALUATION_SEED, TABLE_EPISODES, Played
from tests.evidence.learning.tasks import Task


def play(task: Task, seed: int, settings: Settings) -> Played:
    begin = time.process_time()
    table = learned(task.env, task.steps, seed, settings)
    seconds = time.process_time() - begin
    reached = mean_return(table, task.env)
    return Played(reached, reached, seconds)


def learned(name: str, n_steps: int, seed: int, settings: Settings) -> list[list[float]]:
    env = gymnasium.make(name)
    chance = random.Random(seed)
    n_states, number = state_numbering(env.observation_space)
    n_actions = int(env.action_space.n)  # type: ignore[attr-defined]
    table = [[0.0] * n_actions for _ in range(n_states)]
    n_episodes = 0
    state = number(env.reset(seed=seed)[0])
    for step in range(n_steps):
        alpha, epsilon = (
            rate.at(step if rate.per == "step" else n_episodes)
            for rate in (settings.learning_rate, settings.epsilon)
        )
        row = table[state]
        most = max(row)
        best = [a for a in range(n_actions) if row[a] == most]
        explores = chance.random() < epsilon
        action = chance.randrange(n_actions) if explores else chance.choice(best)
        observation, reward, terminated, truncated, _ = env.step(action)
        state = number(observation)
        follows = 0.0 if terminated else settings.discount * max(table[state])
        row[action] += alpha * (float(reward) + follows - row[action])
        if terminated or truncated:
            n_episodes += 1
            state = number(env.reset()[0])
    return table


def mean_return(table: list[list[float]], name: str) -> float:
    env = gymnasium.make(name)
    _, number = state_numbering(env.observation_space)
    total = 0.0
    for episode in range(TABLE_EPISODES):
        observation, _ = env.reset(seed=EVALUATION_SEED if episode == 0 else None)
        ended = False
        while not ended:
            row = table[number(observation)]
            observation, reward, terminated, truncated, _ = env.step(row.index(max(row)))
            total += float(reward)
            ended = terminated or truncated
    return total / TABLE_EPISODES
