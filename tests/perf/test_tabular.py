"""Tabular learners on tic-tac-toe: each trains a fresh table for a stated number of steps.

The number of ended episodes must agree on both sides: a learner that plays other games does other
work.
"""

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.taxi import TaxiEnv

from rl_impls.envs.games import TicTacToeEnv, rules
from rl_impls.envs.model import BatchEnv
from rl_impls.envs.tabular import TabularEnv
from rl_impls.tabular import LEARNERS
from rl_impls.tabular.training import Training, train_batch

N_STATES, N_ACTIONS = rules().n_states, rules().n_actions
N_ENVS = 128
# About 10 ms a call each.
STEPS = {
    "list": 1_500,
    "numpy": 1_500,
    "optimal": 6_000,
    "batch": 600,
    "memory": 1_500,
    "sparse": 1_500,
    "gpu": 600,
    "compiled": 200_000,
}


def episodes(training: Training) -> dict[str, float]:
    return {"episodes": training.episodes}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.rlperf(category="tabular")
def test_training_on_tictactoe(rlperf, name):
    n_steps = STEPS[name]

    def fresh():
        # A table that has seen some games: rows of zeros alone would all end at their first entry.
        learner = LEARNERS[name](N_STATES, N_ACTIONS, seed=0)
        env = TabularEnv(TicTacToeEnv(), seed=0)
        learner.train(env, n_steps // 10)
        return learner, env

    training = rlperf.measure(
        lambda run: run[0].train(run[1], n_steps), setup=fresh, steps=n_steps, work=episodes
    )
    assert training.steps == n_steps
    # A game takes the agent three moves at least and five at most.
    assert n_steps / 5 - 1 <= training.episodes <= n_steps / 3 + 1


@pytest.mark.rlperf(category="tabular")
def test_training_on_128_environments_at_once(rlperf):
    n_steps = 200 * N_ENVS

    def fresh():
        learner = LEARNERS["compiled"](N_STATES, N_ACTIONS, seed=0)
        return learner, BatchEnv(rules(), N_ENVS, seed=0)

    training = rlperf.measure(
        lambda run: train_batch(run[0], run[1], n_steps), setup=fresh, steps=n_steps, work=episodes
    )
    assert training.steps == n_steps
    assert training.episodes > n_steps / 5 - N_ENVS


def rollout(env, n_steps):
    """Random play through Gymnasium's interface, without a learner."""
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=0)
    n_episodes = 0
    for draw in rng.random(n_steps).tolist():
        legal = np.flatnonzero(info["action_mask"])
        _, _, terminated, _, info = env.step(int(legal[int(draw * len(legal))]))
        if terminated:
            n_episodes += 1
            _, info = env.reset()
    return n_episodes


@pytest.mark.rlperf(category="envs", steps=1_000)
def test_tictactoe_without_a_learner(rlperf):
    assert 200 <= rlperf(rollout, gymnasium.make("TicTacToe-v0"), 1_000) <= 334


@pytest.mark.rlperf(category="tabular")
def test_training_on_taxi_with_its_action_mask(rlperf):
    def fresh():
        env = TabularEnv(TaxiEnv(), seed=0)
        return LEARNERS["list"](env.n_states, env.n_actions, seed=0), env

    training = rlperf.measure(
        lambda run: run[0].train(run[1], 500),
        setup=fresh,
        steps=500,
        work=lambda training: {"penalty": round(-training.reward_sum)},
    )
    # Without a passenger to drop, every move costs 1.
    assert training.reward_sum <= 20 - 499
