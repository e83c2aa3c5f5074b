"""Tabular learning: many small steps, bound by the interpreter."""

import numpy as np
import pytest

from rl_impls.envs.chain import RIGHT, ChainEnv
from rl_impls.tabular.q_learning import QLearner

N_STATES = 8
N_STEPS = 500
N_MOVES = 2_000


def fresh_run():
    env = ChainEnv(N_STATES)
    env.reset(seed=0)
    return env, QLearner(N_STATES, env.n_actions, epsilon=0.3, seed=0)


def train(run):
    """Interact and learn for N_STEPS steps; return the learner and the number of episodes."""
    env, learner = run
    n_episodes = 0
    s_tm1, _ = env.reset()
    for _ in range(N_STEPS):
        a_tm1 = learner.act(s_tm1)
        s_t, r_t, terminated, truncated, _ = env.step(a_tm1)
        learner.learn(s_tm1, a_tm1, r_t, s_t, terminated=terminated)
        if terminated or truncated:
            n_episodes += 1
            s_t, _ = env.reset()
        s_tm1 = s_t
    return learner, n_episodes


@pytest.mark.rlperf(category="tabular")
def test_q_learning_on_the_chain(rlperf):
    learner, n_episodes = rlperf.measure(
        train, setup=fresh_run, steps=N_STEPS, work=lambda result: {"episodes": result[1]}
    )
    assert n_episodes > 0
    assert learner.greedy(N_STATES - 2) == RIGHT


def fresh_rollout():
    env = ChainEnv(N_STATES)
    env.reset(seed=0)
    return env, np.random.default_rng(0).integers(2, size=N_MOVES).tolist()


def rollout(run):
    """Play given actions without learning; return the rewards."""
    env, actions = run
    rewards = []
    for action in actions:
        _, reward, terminated, truncated, _ = env.step(action)
        rewards.append(reward)
        if terminated or truncated:
            env.reset()
    return rewards


@pytest.mark.rlperf(category="envs")
def test_chain_steps_without_a_learner(rlperf):
    rewards = rlperf.measure(
        rollout,
        setup=fresh_rollout,
        steps=N_MOVES,
        work=lambda rewards: {"prizes": rewards.count(1.0)},
    )
    assert len(rewards) == N_MOVES
    assert set(rewards) <= {0.0, 0.01, 1.0}
