"""CartPole: step for step beside Gymnasium's."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import rl_impls.envs  # noqa: F401
from rl_impls.envs.control.cartpole import THETA_LIMIT, cartpole
from rl_impls.envs.control.compiled import CompiledBatch
from rl_impls.envs.control.rules import step_row
from tests.rl_impls.envs.control.beside import compare


def at_random(rng):
    return lambda obs: rng.integers(2, size=len(obs))


def balance(obs):
    """Push towards where the pole leans and the cart is."""
    return (obs @ np.array([0.1, 0.3, 2.0, 0.5], np.float32) > 0).astype(np.int64)


def test_random_play_agrees_with_gymnasium_step_for_step():
    policy = at_random(np.random.default_rng(0))
    terminated, truncated = compare("CartPole-v1", cartpole(), policy, n_envs=16, n_rounds=300)
    assert terminated > 100
    assert truncated == 0


def test_whole_balanced_episodes_agree_until_their_time_is_up():
    # One sequence of actions balances no two poles: a difference grows fifty-fold in a second.
    ended = compare("CartPole-v1", cartpole(), balance, n_envs=4, n_rounds=1010, anew=True)
    assert ended == [0, 8]


def test_the_rewards_of_sutton_and_barto_agree_too():
    policy = at_random(np.random.default_rng(0))
    control = cartpole(sutton_barto_reward=True)
    assert compare("CartPole-v1", control, policy, 4, 200, sutton_barto_reward=True)[0] > 10


@settings(max_examples=60, deadline=None)
@given(state=st.tuples(*(st.floats(-b, b) for b in (2.4, 5.0, 0.2, 5.0))), action=st.integers(0, 1))
def test_a_step_from_anywhere_agrees(state, action):
    theirs: Any = gymnasium.make("CartPole-v1").unwrapped
    theirs.reset()
    theirs.state = np.array(state)
    _, reward, terminated, _, _ = theirs.step(action)
    states = np.array([state])
    assert step_row(cartpole().params, states, 0, np.array([action])) == (reward, terminated)
    np.testing.assert_allclose(states[0], theirs.state, rtol=0, atol=1e-9)


def test_a_pole_that_falls_with_the_last_step_is_both_terminated_and_truncated():
    batch = CompiledBatch(cartpole(), 3, seed=0)
    batch.elapsed[:] = [499, 499, 498]
    batch.states[:] = 0.0
    batch.states[0, 2:] = THETA_LIMIT, 5.0
    step = batch.step(np.array([1, 1, 1]))
    assert step.terminated.tolist() == [True, False, False]
    assert step.truncated.tolist() == [True, True, False]
    assert batch.elapsed.tolist() == [0, 0, 499]


def test_episodes_begin_where_gymnasiums_do():
    states = CompiledBatch(cartpole(), 20_000, seed=3).states
    assert (np.abs(states) <= 0.05).all()
    # Uniform: the standard error of the mean is 0.0002, and the extremes are all but reached.
    assert np.abs(states.mean(axis=0)).max() < 0.001
    assert states.std(axis=0) == pytest.approx(np.full(4, 0.05 / np.sqrt(3)), rel=0.02)
    assert np.abs(np.corrcoef(states.T) - np.eye(4)).max() < 0.05


# Its bounds are Gymnasium's, infinite velocities included.
@pytest.mark.filterwarnings("ignore:.*Box observation space (min|max)imum value is")
def test_gymnasium_finds_nothing_to_complain_about():
    env = gymnasium.make("rl_impls/CartPole-v1")
    check_env(env.unwrapped)
    assert env.observation_space == gymnasium.make("CartPole-v1").observation_space
    assert env.action_space == gymnasium.make("CartPole-v1").action_space


def test_a_single_episode_is_truncated_after_500_steps():
    env = gymnasium.make("rl_impls/CartPole-v1")
    obs, _ = env.reset(seed=0)
    for n in range(1, 501):
        obs, reward, terminated, truncated, _ = env.step(int(balance(obs[None])[0]))
        assert (reward, terminated, truncated) == (1.0, False, n == 500)
