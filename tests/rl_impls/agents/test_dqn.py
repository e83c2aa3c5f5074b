"""DQN: its target and loss against plain ones, its counts."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_impls.agents.agent import Shape, shape_of, train
from rl_impls.agents.dqn import (
    DQN,
    UPDATES_A_TARGET,
    DQNSettings,
    PixelSettings,
    argmax_rows,
    q_loss,
    weighted_q_loss,
)
from rl_impls.agents.qr_dqn import QRDQN, QRDQNSettings
from rl_impls.envs.control.make import make_batch
from rl_impls.envs.control.step import Step
from rl_impls.errors import SettingError
from rl_impls.replay.layout import PrioritisedTransitions
from rl_impls.replay.prioritised import PrioritisedReplay
from tests.rl_impls.agents.differences import numeric_gradient

CARTPOLE = "rl_impls/CartPole-v1"
SMALL: Any = {"hidden": (16,), "batch": 8, "buffer": 100, "learning_starts": 8}


def transitions(n=30, n_actions=3, seed=0):
    rng = np.random.default_rng(seed)
    q_tm1, q_t, online_t = 2 * rng.standard_normal((3, n, n_actions))
    return q_tm1, rng.integers(n_actions, size=n), rng.standard_normal(n), q_t, online_t


def naive_double_loss(q_tm1, a_tm1, r_t, q_t, online_t, terminated, discount, huber=1.0):
    total = 0.0
    for i, action in enumerate(a_tm1):
        target = r_t[i]
        if not terminated[i]:
            target += discount * q_t[i, np.argmax(online_t[i])]
        error = abs(q_tm1[i, action] - target)
        total += error**2 / 2 if error <= huber else huber * (error - huber / 2)
    return total / len(a_tm1)


@pytest.mark.parametrize("huber", [0.5, 1.0, 100.0])
def test_the_double_q_loss_and_its_gradient_are_those_of_the_equation(huber):
    q_tm1, a_tm1, r_t, q_t, online_t = transitions()
    terminated = np.arange(30) % 5 == 0
    best, grad = np.zeros(30, np.int64), np.full_like(q_tm1, np.nan)
    argmax_rows(online_t, best)
    np.testing.assert_array_equal(best, online_t.argmax(axis=1))

    def loss(at):
        return naive_double_loss(at, a_tm1, r_t, q_t, online_t, terminated, 0.9, huber)

    got = q_loss(q_tm1, a_tm1, r_t, q_t, best, terminated, 0.9, huber, grad)
    assert got == pytest.approx(loss(q_tm1))
    np.testing.assert_allclose(grad, numeric_gradient(loss, q_tm1), atol=1e-8)


@pytest.mark.parametrize("double", [True, False])
def test_an_agent_takes_its_next_action_from_the_network_it_is_told_to(double):
    agent = DQN(Shape(1, 4, 3), DQNSettings(**SMALL, double=double), seed=0)
    rng = np.random.default_rng(1)
    agent.target.params[:] = rng.standard_normal(agent.target.params.shape)
    for _ in range(8):
        obs_tm1, obs_t = rng.standard_normal((2, 4)).astype(np.float32)
        agent.replay.add(obs_tm1, int(rng.integers(3)), 1.0, obs_t, bool(rng.random() < 0.3))
    batch = agent.replay.sample()
    q_t, online_t = (net.forward(batch.obs_t).copy() for net in (agent.target, agent.net))
    q_tm1 = agent.net.forward(batch.obs_tm1).copy()
    chooses = online_t if double else q_t
    want = naive_double_loss(
        q_tm1, batch.a_tm1, batch.r_t, q_t, chooses, batch.terminated_t, 0.99, huber=10.0
    )
    assert agent._differentiate(batch) == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("n_envs", [1, 2, 6])
def test_updates_and_targets_come_at_their_steps_whatever_the_batch(n_envs):
    env = make_batch(CARTPOLE, n_envs, seed=0)
    settings = DQNSettings(**SMALL, update_every=4, target_every=24)
    agent = DQN(shape_of(env), settings, seed=0)
    train(agent, env, 36)
    before = agent.target.params.copy()
    # One every 4 steps, but for that at step 4, before learning starts.
    assert agent._adam.n_steps == 36 // 4 - 1
    train(agent, env, 6)
    np.testing.assert_array_equal(agent.target.params, before)
    train(agent, env, 6)
    np.testing.assert_array_equal(agent.target.params, agent.net.params)


@pytest.mark.parametrize("n_envs", [1, 6])
def test_several_updates_come_whenever_it_is_time_for_one(n_envs):
    env = make_batch(CARTPOLE, n_envs, seed=0)
    settings = DQNSettings(**SMALL, update_every=12, n_updates=5)
    agent = DQN(shape_of(env), settings, seed=0)
    counts = []
    for _ in range(4):
        train(agent, env, 6)
        counts.append(agent._adam.n_steps)
    assert counts == [0, 5, 5, 10]


@pytest.mark.parametrize("n_envs", [1, 3])
def test_the_replay_keeps_where_a_truncated_episode_was_cut(n_envs):
    agent = DQN(Shape(n_envs, 2, 2), DQNSettings(**SMALL), seed=0)
    obs_tm1, obs_t, next_obs = np.arange(6 * n_envs, dtype=np.float32).reshape(3, n_envs, 2)
    agent.act(obs_tm1)
    truncated = np.ones(n_envs, bool)
    r_t = np.ones(n_envs, np.float32)
    agent.observe(Step(obs_t, r_t, ~truncated, truncated, next_obs, obs_tm1))
    state = agent.replay.state()
    np.testing.assert_array_equal(state["obs_t"], obs_t)
    assert not state["terminated_t"].any()


def test_the_td_error_is_that_of_the_last_batch():
    env = make_batch(CARTPOLE, 2, seed=0)
    agent = DQN(shape_of(env), DQNSettings(**SMALL, double=False, huber=1e6), seed=0)
    assert np.isnan(agent.td_error())
    train(agent, env, 50)
    got = agent.td_error()
    # With no bound that an error reaches, the gradient of the loss is the errors' mean by row.
    assert agent._batch is not None
    agent._differentiate(agent._batch)
    assert got == pytest.approx(np.abs(agent._grad).sum(), rel=1e-5)


def test_exploration_falls_in_a_straight_line():
    agent = DQN(Shape(1, 4, 2), DQNSettings(epsilon_over=100), seed=0)
    assert [agent._epsilon.at(n) for n in (0, 50, 1000)] == pytest.approx([1.0, 0.525, 0.05])


@given(
    st.integers(1, 12), st.integers(1, 300), st.integers(1, 200), st.integers(1, 20_000),
)  # fmt: skip
def test_larger_batches_learn_from_as_many_rows_a_step(times, update_every, n_updates, target):
    own = DQNSettings(
        batch=64, update_every=update_every, n_updates=n_updates, target_every=target,
        learning_rate=1e-3,
    )  # fmt: skip
    larger = own.in_larger_batches(times)
    assert larger.batch == times * own.batch
    assert rows_a_step(larger) == rows_a_step(own)
    assert larger.target_every >= own.target_every
    assert updates_a_target(larger) >= min(updates_a_target(own), UPDATES_A_TARGET)
    if larger.target_every > own.target_every:
        sooner = replace(larger, target_every=larger.target_every - 1)
        assert updates_a_target(sooner) < min(updates_a_target(own), UPDATES_A_TARGET)
    assert larger.learning_rate**2 == pytest.approx(times * own.learning_rate**2)
    assert own.in_larger_batches(1) == own


def rows_a_step(settings):
    return Fraction(settings.batch * settings.n_updates, settings.update_every)


def updates_a_target(settings):
    return Fraction(settings.target_every * settings.n_updates, settings.update_every)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"batch": 0}, "batch is at least 1, not 0"),
        ({"epsilon_end": 2.0}, "epsilon_end lies between 0 and 1, not at 2.0"),
        ({"update_every": 0}, "update_every is at least 1, not 0"),
        ({"n_updates": 0}, "n_updates is at least 1, not 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, says):
    with pytest.raises(SettingError, match=says):
        DQNSettings(**wrong)


PRIORITISED = DQNSettings(
    hidden=(16,), batch=8, buffer=64, learning_starts=20, update_every=4, prioritised=True,
    beta_over=100,
)  # fmt: skip


def test_a_weighted_loss_is_the_plain_one_where_all_weights_are_one():
    rng = np.random.default_rng(0)
    q_tm1, q_t = rng.normal(0, 2, (2, 6, 3)).astype(np.float32)
    a_tm1, best = rng.integers(0, 3, (2, 6))
    r_t, terminated = rng.normal(0, 1, 6).astype(np.float32), rng.random(6) < 0.3
    plain, weighted, errors = np.zeros((6, 3)), np.zeros((6, 3)), np.zeros(6, np.float32)
    loss = q_loss(q_tm1, a_tm1, r_t, q_t, best, terminated, 0.9, 1.0, plain)
    ones = np.ones(6, np.float32)
    same = weighted_q_loss(
        q_tm1, a_tm1, r_t, q_t, best, terminated, 0.9, 1.0, ones, errors, weighted
    )
    assert same == pytest.approx(loss)
    np.testing.assert_allclose(weighted, plain)
    rows = np.arange(6)
    goal = r_t + 0.9 * ~terminated * q_t[rows, best]
    np.testing.assert_allclose(errors, q_tm1[rows, a_tm1] - goal, rtol=1e-5)
    twice = np.zeros((6, 3))
    double = weighted_q_loss(
        q_tm1, a_tm1, r_t, q_t, best, terminated, 0.9, 1.0, 2 * ones, errors, twice
    )
    assert double == pytest.approx(2 * loss)
    np.testing.assert_allclose(twice, 2 * plain)


def test_an_update_weighs_rows_by_their_chance_and_leaves_their_errors_as_priorities():
    rng = np.random.default_rng(0)
    agent = DQN(Shape(1, 4, 3), replace(PRIORITISED, priority_alpha=0.7), seed=0)
    replay = agent.replay
    assert isinstance(replay, PrioritisedReplay)
    for _ in range(12):
        obs_tm1, obs_t = rng.standard_normal((2, 4))
        replay.add(obs_tm1, int(rng.integers(3)), rng.normal(), obs_t, bool(rng.random() < 0.3))
    replay.update(np.arange(12), rng.normal(0.0, 2.0, 12))
    for _ in range(5):
        expected = list(replay.priorities())
        total = sum(expected)
        agent.update()
        batch = agent._batch
        assert isinstance(batch, PrioritisedTransitions)
        weights = [(12 * expected[i] / total) ** -replay.beta for i in batch.indices]
        np.testing.assert_allclose(batch.weights, np.array(weights) / max(weights), rtol=1e-4)
        for i, error in zip(batch.indices, agent._td_errors, strict=True):
            expected[i] = (abs(error) + replay.eps) ** 0.7
        np.testing.assert_allclose(replay.priorities(), expected, rtol=1e-4)


def test_what_is_learned_changes_what_is_drawn_and_weights_become_whole():
    env = make_batch("rl_impls/CartPole-v1", 2, seed=0)
    agent = DQN(shape_of(env), PRIORITISED, seed=0)
    replay = agent.replay
    assert isinstance(replay, PrioritisedReplay)
    train(agent, env, 16)
    assert np.ptp(replay.priorities()) == 0.0
    assert replay.beta == pytest.approx(0.4)
    train(agent, env, 100)
    assert np.ptp(replay.priorities()) > 0.0
    assert replay.beta == 1.0
    assert agent.updates_made > 0


def test_priorities_are_saved_with_the_agent(tmp_path):
    env = make_batch("rl_impls/CartPole-v1", 2, seed=0)
    agent = DQN(shape_of(env), PRIORITISED, seed=0)
    train(agent, env, 60)
    agent.save(tmp_path / "agent.npz", env)
    later_env = make_batch("rl_impls/CartPole-v1", 2, seed=9)
    later = DQN.load(tmp_path / "agent.npz", later_env)
    for each, its_env in ((agent, env), (later, later_env)):
        train(each, its_env, 40)
    for key, array in agent.state().items():
        np.testing.assert_array_equal(array, later.state()[key], err_msg=key)


def test_settings_of_an_early_release_know_no_priorities():
    data = DQNSettings(batch=32).as_data()
    later = ("prioritised", "priority_alpha", "priority_beta", "beta_over", "n_step", "dueling")
    for name in later:
        del data[name]
    assert DQNSettings.from_data(data) == DQNSettings(batch=32)


def test_priorities_are_refused_where_nobody_tells_the_errors():
    with pytest.raises(SettingError, match="prioritised replay is for dqn on numpy, and not for"):
        QRDQN(Shape(1, 4, 2), QRDQNSettings(prioritised=True))
    with pytest.raises(SettingError, match="a dueling network is for dqn on numpy, and not for"):
        QRDQN(Shape(1, 4, 2), QRDQNSettings(dueling=True))
    with pytest.raises(SettingError, match="frames are not drawn by priority"):
        PixelSettings(prioritised=True)
