"""SAC: its density, targets and gradients against plain ones."""

from typing import Any

import numpy as np
import pytest

from rl_impls.agents.agent import Shape, shape_of, train
from rl_impls.agents.sac import (
    LOG_STD_HIGH,
    LOG_STD_LOW,
    SAC,
    SACSettings,
    actor_gradient,
    smaller_critic,
    squashed_gaussian,
)
from rl_impls.agents.twin_critics import critic_loss, soft_targets
from rl_impls.envs.control.make import make_batch
from rl_impls.errors import SettingError
from tests.rl_impls.agents.differences import numeric_gradient

PENDULUM = "rl_impls/Pendulum-v1"
SMALL: Any = {"hidden": (16,), "batch": 8, "buffer": 100, "learning_starts": 10}
N, SIZE, OBS_SIZE, ALPHA = 5, 2, 3, 0.3


def naive_actions(out, noise):
    log_std = np.clip(out[:, SIZE:], LOG_STD_LOW, LOG_STD_HIGH)
    u = out[:, :SIZE] + np.exp(log_std) * noise
    normal = -(noise**2) / 2 - log_std - np.log(2 * np.pi) / 2
    return np.tanh(u), (normal - np.log(1 - np.tanh(u) ** 2)).sum(axis=1)


def drawn(seed=0):
    rng = np.random.default_rng(seed)
    out, noise = rng.standard_normal((N, 2 * SIZE)), rng.standard_normal((N, SIZE))
    actions, log_probs = np.zeros((N, SIZE)), np.zeros(N)
    squashed_gaussian(out, noise, actions, log_probs)
    return out, noise, actions, log_probs


def test_actions_and_their_density_are_those_of_the_equation():
    out, noise, actions, log_probs = drawn()
    want_actions, want_log_probs = naive_actions(out, noise)
    np.testing.assert_allclose(actions, want_actions)
    np.testing.assert_allclose(log_probs, want_log_probs, rtol=1e-9)


def test_the_density_of_one_action_adds_up_to_one():
    # By the change of variable: pi(a) on a fine grid of a, summed.
    grid = np.linspace(-1, 1, 20_001)[1:-1, None]
    out = np.tile([0.3, -0.5], (len(grid), 1))
    noise = (np.arctanh(grid) - 0.3) / np.exp(-0.5)
    actions, log_probs = np.zeros_like(grid), np.zeros(len(grid))
    squashed_gaussian(out, noise, actions, log_probs)
    np.testing.assert_allclose(actions, grid, atol=1e-12)
    assert np.exp(log_probs).sum() * 1e-4 == pytest.approx(1.0, abs=1e-3)


def test_the_density_stays_finite_where_tanh_is_one():
    out = np.array([[50.0, 0.0], [-50.0, 30.0]], np.float32)
    actions, log_probs = np.zeros((2, 1), np.float32), np.zeros(2, np.float32)
    squashed_gaussian(out, np.zeros((2, 1), np.float32), actions, log_probs)
    assert np.isfinite(log_probs).all()


def test_critics_learn_towards_soft_targets():
    rng = np.random.default_rng(1)
    r_t, log_probs = rng.standard_normal((2, N))
    q_1, q_2, q_tm1 = rng.standard_normal((3, N, 1))
    terminated, targets, grad = np.arange(N) == 1, np.zeros(N), np.zeros((N, 1))
    soft_targets(r_t, terminated, q_1, q_2, log_probs, 0.9, ALPHA, targets)
    soft = np.minimum(q_1, q_2)[:, 0] - ALPHA * log_probs
    np.testing.assert_allclose(targets, r_t + 0.9 * ~terminated * soft)

    def loss(at):
        return ((at[:, 0] - targets) ** 2).mean() / 2

    assert critic_loss(q_tm1, targets, grad) == pytest.approx(loss(q_tm1))
    np.testing.assert_allclose(grad, numeric_gradient(loss, q_tm1), atol=1e-8)


def curved(x, centre):
    """A critic with a gradient that is known: q and dq/dx."""
    return -((x - centre) ** 2).sum(axis=1, keepdims=True), -2 * (x - centre)


def test_the_actor_follows_the_gradient_of_the_smaller_critic_and_the_entropy():
    out, noise, actions, _ = drawn(2)
    out[0, SIZE] = LOG_STD_HIGH + 1.0  # beyond its bounds nothing changes with it
    obs = np.random.default_rng(3).standard_normal((N, OBS_SIZE))
    log_probs = np.zeros(N)
    squashed_gaussian(out, noise, actions, log_probs)
    centres = 0.1, 0.4

    def loss(at):
        a, log_pi = naive_actions(at, noise)
        q_1, q_2 = (curved(np.hstack([obs, a]), centre)[0] for centre in centres)
        return (ALPHA * log_pi - np.minimum(q_1, q_2)[:, 0]).mean()

    (q_1, dq_1), (q_2, dq_2) = (curved(np.hstack([obs, actions]), c) for c in centres)
    grad_1, grad_2, grad = np.zeros((N, 1)), np.zeros((N, 1)), np.zeros_like(out)
    assert smaller_critic(q_1, q_2, grad_1, grad_2) == pytest.approx(np.minimum(q_1, q_2).mean())
    assert (grad_1 != 0).any()
    assert (grad_2 != 0).any()
    actor_gradient(out, noise, actions, grad_1 * dq_1, grad_2 * dq_2, ALPHA, grad)
    np.testing.assert_allclose(grad, numeric_gradient(loss, out), atol=1e-6)


def test_actions_are_stretched_to_their_bounds():
    agent = SAC(Shape(1, 3, 0, 2, (0.0, -3.0), (1.0, 5.0)), SACSettings(**SMALL), seed=0)
    ends = np.array([[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0]], np.float32)
    np.testing.assert_allclose(agent._stretched(ends), [[0.0, -3.0], [1.0, 5.0], [0.5, 1.0]])


def test_the_actor_learns_at_every_second_update_of_the_critics():
    env = make_batch(PENDULUM, 2, seed=0)
    agent = SAC(shape_of(env), SACSettings(**SMALL), seed=0)
    train(agent, env, 40)
    counts = {name: adam.n_steps for name, adam in agent._adams.items()}
    assert counts == {"actor": 16, "critic_1": 32, "critic_2": 32, "log_alpha": 16}


def test_the_temperature_falls_while_there_is_more_entropy_than_wanted():
    env = make_batch(PENDULUM, 2, seed=0)
    agent = SAC(shape_of(env), SACSettings(**SMALL), seed=0)
    train(agent, env, 200)
    assert agent.alpha < 1.0
    assert agent.alpha == pytest.approx(np.exp(agent.log_alpha[0]))


def test_numbered_actions_and_settings_that_make_no_sense_are_refused():
    with pytest.raises(SettingError, match="SAC chooses continuous actions"):
        SAC(Shape(1, 4, 2))
    for bound in (np.inf, 1e300, np.nan):
        with pytest.raises(SettingError, match="needs finite bounds"):
            SAC(Shape(1, 4, 0, 1, (-bound,), (bound,)))
    with pytest.raises(SettingError, match=r"tau lies between 0 and 1, not at 1\.5"):
        SACSettings(tau=1.5)
