"""Pendulum: step for step beside Gymnasium's."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import rl_impls.envs  # noqa: F401
from rl_impls.envs.control.compiled import CompiledBatch
from rl_impls.envs.control.pendulum import pendulum
from rl_impls.envs.control.rules import step_row
from tests.rl_impls.envs.control.beside import compare


def torques(rng, reach):
    """At random, some beyond the bounds."""
    return lambda obs: rng.uniform(-reach, reach, (len(obs), 1)).astype(np.float32)


@pytest.mark.parametrize("gravity", [10.0, 9.81])
def test_whole_episodes_agree_with_gymnasium_step_for_step(gravity):
    policy = torques(np.random.default_rng(0), 2.5)
    control = pendulum(g=gravity)
    ended = compare("Pendulum-v1", control, policy, n_envs=12, n_rounds=410, g=gravity)
    assert ended == [0, 24]


def with_the_swing(obs):
    return 2.0 * np.sign(obs[:, 2:])


def test_at_the_greatest_speeds_they_agree_too():
    assert compare("Pendulum-v1", pendulum(), with_the_swing, n_envs=4, n_rounds=200) == [0, 4]


@settings(max_examples=60, deadline=None)
@given(theta=st.floats(-50, 50), speed=st.floats(-8, 8), torque=st.floats(-3, 3, width=32))
def test_a_step_from_anywhere_agrees(theta, speed, torque):
    theirs: Any = gymnasium.make("Pendulum-v1").unwrapped
    theirs.reset()
    theirs.state = np.array([theta, speed])
    action = np.array([torque], np.float32)
    _, reward, terminated, _, _ = theirs.step(action)
    states = np.array([[theta, speed]])
    r_t, ended = step_row(pendulum().params, states, 0, action[None])
    assert r_t == pytest.approx(reward, abs=1e-9)
    assert ended == terminated
    np.testing.assert_allclose(states[0], theirs.state, rtol=0, atol=1e-9)


def test_episodes_begin_where_gymnasiums_do():
    angles, speeds = CompiledBatch(pendulum(), 20_000, seed=3).states.T
    assert 3.13 < np.abs(angles).max() <= np.pi
    assert 0.99 < np.abs(speeds).max() <= 1.0
    assert abs(angles.mean()) < 0.07
    assert abs(speeds.mean()) < 0.025


# Its actions are Gymnasium's, torques of up to 2.
@pytest.mark.filterwarnings("ignore:.*For Box action spaces, we recommend")
def test_gymnasium_finds_nothing_to_complain_about():
    env = gymnasium.make("rl_impls/Pendulum-v1")
    check_env(env.unwrapped)
    assert env.observation_space == gymnasium.make("Pendulum-v1").observation_space
    assert env.action_space == gymnasium.make("Pendulum-v1").action_space


def test_a_single_episode_is_truncated_after_200_steps():
    env = gymnasium.make("rl_impls/Pendulum-v1")
    env.reset(seed=0)
    flags = [env.step(np.zeros(1, np.float32))[2:4] for _ in range(200)]
    assert flags == [(False, False)] * 199 + [(False, True)]
