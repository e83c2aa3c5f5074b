"""Batched environments and Gymnasium's vector interface over them."""

import gymnasium
import numpy as np
import pytest

from rl_impls.envs.batch import BatchEnv
from rl_impls.envs.tictactoe import rules


def first_legal(states):
    return rules().masks[states].argmax(axis=1)


def games(env, n_rounds=60):
    trail = [env.states.copy()]
    for _ in range(n_rounds):
        step = env.step(first_legal(env.states))
        trail += [step.s_t.copy(), step.r_t.copy(), step.terminated.copy(), env.states.copy()]
    return trail


def test_compiled_and_numpy_steps_play_the_same_games():
    forms = (BatchEnv(rules(), 7, seed=3, compile_step=compiles) for compiles in (True, False))
    for got, want in zip(*map(games, forms), strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_reset_without_a_seed_goes_on_with_the_stream():
    env = BatchEnv(rules(), 200, seed=3)
    first = env.states.copy()
    assert (env.reset() != first).any()
    np.testing.assert_array_equal(env.reset(seed=3), first)


def test_an_empty_batch_is_refused():
    with pytest.raises(ValueError, match="at least 1 environment, not 0"):
        BatchEnv(rules(), 0)


def test_the_vector_interface_resets_in_the_same_step_and_keeps_the_last_state():
    env = gymnasium.make_vec("TicTacToe-v0", num_envs=16)
    states, info = env.reset(seed=1)
    ended = 0
    for _ in range(20):
        np.testing.assert_array_equal(info["action_mask"], rules().masks[states])
        states, rewards, terminated, truncated, info = env.step(first_legal(states))
        assert not truncated.any()
        assert env.observation_space.contains(states)
        if terminated.any():
            last = info["final_obs"][info["_final_obs"]]
            assert not rules().masks[last].any()
            assert rules().masks[states[terminated]].any()
        assert (rewards[~terminated] == 0).all()
        ended += terminated.sum()
    assert ended > 16


def test_in_a_batch_too_an_illegal_move_forfeits_the_game():
    env = gymnasium.make_vec("TicTacToe-v0", num_envs=3)
    env.reset(seed=1)
    states, *_ = env.step(np.array([4, 4, 4]))
    free = first_legal(states)
    actions = np.array([4, free[1], free[2]])
    _, rewards, terminated, _, info = env.step(actions)
    assert (rewards[0], terminated[0], info["final_obs"][0]) == (-1.0, True, states[0])


def test_one_seed_for_a_batch():
    with pytest.raises(ValueError, match="give one seed"):
        gymnasium.make_vec("TicTacToe-v0", num_envs=2).reset(seed=[1, 2])  # type: ignore[arg-type]
