"""Batches of compiled environments: rows, episodes that follow one another, chance, bad input."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from rl_impls.envs.control.cartpole import cartpole
from rl_impls.envs.control.compiled import CompiledBatch
from rl_impls.envs.control.make import COMPILED, make_batch
from rl_impls.envs.control.pendulum import pendulum
from rl_impls.envs.control.rules import observe_row, reset_row, step_row
from rl_impls.splitmix import streams

every_environment = pytest.mark.parametrize("name", COMPILED)


def actions_for(batch, rng, n=None):
    n = batch.n_envs if n is None else n
    if batch.n_actions:
        return rng.integers(batch.n_actions, size=n)
    return rng.uniform(batch.act_low, batch.act_high, (n, batch.act_size)).astype(np.float32)


def played(batch, n_rounds=320, rng=None):
    """Everything that random play gives, as bytes."""
    rng = np.random.default_rng(5) if rng is None else rng
    return [
        b"".join(array.tobytes() for array in batch.step(actions_for(batch, rng)))
        for _ in range(n_rounds)
    ]


def differ(some, others):
    """Which observations are not the same."""
    return (some != others).any(axis=tuple(range(1, some.ndim)))


@every_environment
def test_a_batch_plays_row_by_row_what_single_environments_play(name):
    batch = make_batch(name, 5, seed=11)
    singles: list[Any] = [gymnasium.make(name) for _ in range(5)]
    for row, env in enumerate(singles):
        env.unwrapped.chance[:] = streams(11, 5)[row]
        np.testing.assert_array_equal(env.reset()[0], batch.obs[row])
    rng = np.random.default_rng(0)
    n_ended = 0
    for _ in range(320):
        actions = actions_for(batch, rng)
        step = batch.step(actions)
        for row, env in enumerate(singles):
            obs, reward, *flags, _ = env.step(actions[row])
            np.testing.assert_array_equal(step.obs_t[row], obs)
            assert step.r_t[row] == np.float32(reward)
            assert flags == [step.terminated[row], step.truncated[row]]
            if any(flags):
                n_ended += 1
                obs, _ = env.reset()
            np.testing.assert_array_equal(step.next_obs[row], obs)
    assert n_ended >= 5


@every_environment
def test_compiled_rules_and_the_same_uncompiled_agree(name):
    batch = CompiledBatch(COMPILED[name](), 2, seed=4)
    params = batch.control.params
    states, obs = np.zeros_like(batch.states), np.zeros_like(batch.obs)
    chance = streams(4, 2)
    rng = np.random.default_rng(1)
    for row in range(2):
        reset_row(params, states, row, chance)
    np.testing.assert_array_equal(chance, batch.chance)
    for _ in range(8):  # the pole does not fall sooner
        actions = actions_for(batch, rng)
        step = batch.step(actions)
        for row in range(2):
            r_t, terminated = step_row(params, states, row, actions)
            observe_row(params, states, row, obs)
            assert step.r_t[row] == pytest.approx(r_t, rel=1e-6)
            assert step.terminated[row] == terminated
        np.testing.assert_allclose(step.obs_t, obs, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(batch.states, states, rtol=1e-12, atol=1e-12)


@every_environment
def test_a_step_hands_over_where_it_led_where_to_act_next_and_where_it_was_taken(name):
    batch = make_batch(name, 6, seed=0)
    rng = np.random.default_rng(0)
    before = batch.obs.copy()
    seen = 0
    for _ in range(310):
        step = batch.step(actions_for(batch, rng))
        np.testing.assert_array_equal(step.obs_tm1, before)
        assert step.next_obs is batch.obs
        ended = step.terminated | step.truncated
        np.testing.assert_array_equal(step.next_obs[~ended], step.obs_t[~ended])
        assert differ(step.next_obs[ended], step.obs_t[ended]).all()
        seen += ended.sum()
        before = step.next_obs.copy()
    assert seen >= 6


def test_steps_allocate_nothing_that_grows_with_the_batch():
    batch = CompiledBatch(cartpole(), 4, seed=0)
    first, second, third = (batch.step(np.zeros(4, np.int64)) for _ in range(3))
    assert third is first
    assert second.obs_tm1 is first.next_obs
    assert second.obs_t is first.obs_t


@every_environment
def test_equal_seeds_give_equal_episodes_and_resets_do_not_repeat_one(name):
    first, again, other = (played(make_batch(name, 3, seed=seed)) for seed in (5, 5, 6))
    assert first == again
    assert first != other
    batch = make_batch(name, 50, seed=5)
    begun = batch.obs.copy()
    assert len(np.unique(begun, axis=0)) == 50
    assert differ(batch.reset(), begun).all()
    np.testing.assert_array_equal(batch.reset(5), begun)


@every_environment
def test_what_happens_in_a_row_does_not_depend_on_the_others(name):
    few, many = make_batch(name, 3, seed=9), make_batch(name, 8, seed=9)
    rng = np.random.default_rng(2)
    for _ in range(60):
        actions = actions_for(many, rng)
        a, b = few.step(actions[:3]), many.step(actions)
        np.testing.assert_array_equal(a.next_obs, b.next_obs[:3])


@every_environment
def test_a_batch_goes_on_from_a_snapshot_bit_for_bit(name):
    batch = CompiledBatch(COMPILED[name](), 4, seed=1)
    played(batch, 37)
    kept = batch.snapshot()
    first = played(batch)
    resumed = CompiledBatch(COMPILED[name](), 4, seed=99)
    resumed.restore(kept)
    assert played(resumed) == first


@every_environment
def test_single_environments_with_equal_seeds_play_alike(name):
    def episode(seed):
        env = gymnasium.make(name)
        env.action_space.seed(0)
        trail = [env.reset(seed=seed)[0]]
        trail += [env.step(env.action_space.sample())[0] for _ in range(8)]
        return [*trail, env.reset()[0]]

    np.testing.assert_array_equal(episode(3), episode(3))
    assert not np.array_equal(episode(3), episode(4))


def test_actions_of_other_widths_are_taken_too():
    batch = CompiledBatch(cartpole(), 2, seed=0)
    batch.step(np.array([0, 1], np.int32))
    batch.step([0, 1])
    CompiledBatch(pendulum(), 2, seed=0).step(np.zeros((2, 1)))


@pytest.mark.parametrize(
    ("control", "actions", "said"),
    [
        (cartpole(), [0, 1], r"actions have the shape \(3,\) here, not \(2,\)\.$"),
        (cartpole(), [0.0, 1.0, 1.0], r"actions are int64 here, not float64\.$"),
        (cartpole(), [0, 2, 1], r"row 1: an action is a whole number from 0 to 1, not 2\.$"),
        (cartpole(), [0, 1, -1], r"row 2: .* not -1\.$"),
        (pendulum(), np.zeros(3), r"actions have the shape \(3, 1\) here, not \(3,\)\.$"),
        (pendulum(), [[0], [np.nan], [0]], r"row 1: an action is made of finite numbers, not"),
    ],
)
def test_a_batch_with_a_bad_action_is_refused_and_not_stepped(control, actions, said):
    batch = CompiledBatch(control, 3, seed=0)
    before, obs = batch.snapshot(), batch.obs.copy()
    with pytest.raises(ValueError, match=said):
        batch.step(actions)
    np.testing.assert_array_equal(batch.states, before.states)
    np.testing.assert_array_equal(batch.obs, obs)


def test_sizes_and_seeds_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="at least 1 environment, not 0"):
        make_batch("ChemicalReactor-v0", 0)
    with pytest.raises(ValueError, match="a whole number from 0 on, not -1"):
        make_batch("ChemicalReactor-v0", 1, seed=-1)
    small, large = (CompiledBatch(cartpole(), n) for n in (2, 3))
    with pytest.raises(ValueError, match=r"states \(2, 4\) does not fit a batch of \(3, 4\)"):
        large.restore(small.snapshot())


def test_a_single_environment_refuses_an_action_that_there_is_not():
    env = gymnasium.make("rl_impls/CartPole-v1").unwrapped
    with pytest.raises(ValueError, match="call reset"):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="a whole number from 0 to 1, not 2"):
        env.step(2)
