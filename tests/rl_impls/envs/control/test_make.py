"""Gymnasium's own environments through the interface of a compiled batch."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from rl_impls.envs.control.make import GymnasiumBatch, make_batch
from rl_impls.envs.games import TicTacToeEnv
from rl_impls.errors import SpaceError


@pytest.mark.parametrize(
    ("name", "ours", "sizes"),
    [
        ("CartPole-v1", "rl_impls/CartPole-v1", (4, 2, 0)),
        ("Pendulum-v1", "rl_impls/Pendulum-v1", (3, 0, 1)),
    ],
)
def test_both_kinds_of_batch_have_one_interface(name, ours, sizes):
    for batch in (make_batch(name, 3, seed=0), make_batch(ours, 3, seed=0)):
        assert (batch.obs_size, batch.n_actions, batch.act_size) == sizes
        assert batch.obs.shape == (3, sizes[0])
        actions = np.zeros((3, 1), np.float32) if batch.act_size else np.zeros(3, np.int64)
        step = batch.step(actions)
        assert [array.dtype for array in step] == [np.float32] * 2 + [bool] * 2 + [np.float32] * 2
        assert step.next_obs is batch.obs
    np.testing.assert_array_equal(batch.act_high, [2.0] * batch.act_size)


def test_it_plays_what_gymnasium_plays():
    batch = make_batch("CartPole-v1", 3, seed=10)
    theirs = [gymnasium.make("CartPole-v1") for _ in range(3)]
    here = np.array([env.reset(seed=10 + row)[0] for row, env in enumerate(theirs)])
    rng = np.random.default_rng(0)
    n_ended = 0
    for _ in range(100):
        np.testing.assert_array_equal(batch.obs, here)
        actions = rng.integers(2, size=3)
        step = batch.step(actions)
        np.testing.assert_array_equal(step.obs_tm1, here)
        for row, env in enumerate(theirs):
            here[row], reward, *flags, _ = env.step(actions[row])
            np.testing.assert_array_equal(step.obs_t[row], here[row])
            assert [step.r_t[row], step.terminated[row], step.truncated[row]] == [reward, *flags]
            if any(flags):
                here[row], _ = env.reset()
                n_ended += 1
    assert n_ended > 5


def test_a_truncated_step_keeps_the_observation_it_was_cut_at():
    batch = make_batch("Pendulum-v1", 2, seed=0)
    for n in range(1, 201):
        step = batch.step(np.full((2, 1), 5.0))  # counts as 2
        assert step.truncated.tolist() == [n == 200] * 2
        assert not step.terminated.any()
        assert (step.obs_t != step.next_obs).any(axis=1).tolist() == [n == 200] * 2


def test_a_seed_begins_the_same_episodes_again():
    batch = make_batch("CartPole-v1", 2, seed=4)
    first = batch.obs.copy()
    assert (batch.reset() != first).any()
    np.testing.assert_array_equal(batch.reset(4), first)


def test_bad_actions_are_refused_before_anything_is_stepped():
    batch = make_batch("CartPole-v1", 2, seed=4)
    first = batch.obs.copy()
    with pytest.raises(ValueError, match="row 1: an action is a whole number from 0 to 1, not 2"):
        batch.step([0, 2])
    np.testing.assert_array_equal(batch.obs, first)
    with pytest.raises(ValueError, match="row 0: an action is made of finite numbers"):
        make_batch("Pendulum-v1", 1, seed=4).step([[np.inf]])


def test_spaces_that_do_not_fit_are_refused_by_name():
    with pytest.raises(SpaceError, match=r"observations from Discrete\(19683\)"):
        GymnasiumBatch([TicTacToeEnv()])
    env = gymnasium.make("CartPole-v1").unwrapped
    env.action_space = spaces.MultiBinary(2)
    with pytest.raises(SpaceError, match=r"actions from MultiBinary\(2\)"):
        GymnasiumBatch([env])
    with pytest.raises(ValueError, match="at least 1 environment, not 0"):
        make_batch("CartPole-v1", 0)


def test_the_first_action_need_not_be_0():
    env: Any = gymnasium.make("CartPole-v1").unwrapped
    taken: list[int] = []
    env.action_space = spaces.Discrete(2, start=3)

    def step(action):
        taken.append(action)
        return np.zeros(4), 0.0, False, False, {}

    env.step = step
    batch = GymnasiumBatch([env], seed=0)
    batch.step([1])
    batch.close()
    assert taken == [4]
