"""Continuous actions of PPO: their density, loss and gradient against plain ones, and bounds."""

from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from rl_impls.agents.agent import Shape, shape_of, train
from rl_impls.agents.policies import GaussianActor
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.agents.rollout import clipped_gaussian_loss, gaussian_actions
from rl_impls.envs.control.make import make_batch
from rl_impls.errors import SettingError
from rl_impls.runtimes.mpi.ppo import MpiPPORuntime
from tests.rl_impls.agents.differences import numeric_gradient

N, SIZE, CLIP, WEIGHT = 40, 3, 0.2, 0.05
SHAPE = Shape(4, 3, act_size=2, act_low=(-0.5, -np.inf), act_high=(0.25, np.inf))


def drawn(seed=0):
    rng = np.random.default_rng(seed)
    means, noise = rng.standard_normal((2, N, SIZE))
    log_std = np.array([-1.0, 0.0, 0.5])
    actions, log_probs = np.zeros((N, SIZE)), np.zeros(N)
    gaussian_actions(means, log_std, noise, actions, log_probs)
    return means, log_std, noise, actions, log_probs


def density(actions, means, log_std):
    return stats.norm.logpdf(actions, means, np.exp(log_std)).sum(axis=1)


def test_actions_and_their_density_are_those_of_the_equation():
    means, log_std, noise, actions, log_probs = drawn()
    np.testing.assert_allclose(actions, means + np.exp(log_std) * noise)
    np.testing.assert_allclose(log_probs, density(actions, means, log_std))


def test_the_loss_and_its_gradients_are_those_of_the_equation():
    means, log_std, _, actions, _ = drawn()
    rng = np.random.default_rng(1)
    # Far enough apart that every case of the bound is met.
    old = density(actions, means, log_std) - 0.3 * rng.standard_normal(N)
    advantages = rng.standard_normal(N)

    def surrogate(at, width):
        ratio = np.exp(density(actions, at, width) - old)
        bounded = np.clip(ratio, 1 - CLIP, 1 + CLIP)
        return -np.minimum(ratio * advantages, bounded * advantages).mean()

    def entropy(width):
        return stats.norm.entropy(scale=np.exp(width)).sum()

    def loss(at, width):
        return surrogate(at, width) - WEIGHT * entropy(width)

    grad, grad_log_std = np.full_like(means, np.nan), np.full_like(log_std, np.nan)
    got = clipped_gaussian_loss(
        means, log_std, actions, old, advantages, CLIP, WEIGHT, grad, grad_log_std
    )
    assert got == pytest.approx((surrogate(means, log_std), entropy(log_std)))
    ratio = np.exp(density(actions, means, log_std) - old)
    sides = zip(ratio > 1 + CLIP, ratio < 1 - CLIP, advantages > 0, strict=True)
    assert len(set(sides)) == 6
    np.testing.assert_allclose(
        grad, numeric_gradient(lambda at: loss(at, log_std), means), atol=1e-7
    )
    np.testing.assert_allclose(
        grad_log_std, numeric_gradient(lambda at: loss(means, at), log_std), atol=1e-7
    )


SMALL: Any = {"hidden": (8,), "horizon": 64, "minibatch": 32, "n_epochs": 2}


def test_environments_get_actions_within_their_bounds_and_the_agent_learns_from_what_it_drew():
    agent = PPO(SHAPE, PPOSettings(**SMALL), seed=0)
    obs = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    for t in range(16):
        agent._rollout.t = t
        taken = agent.act(obs)
        kept = agent._rollout.actions[t]
        np.testing.assert_array_equal(taken[:, 0], np.clip(kept[:, 0], -0.5, 0.25))
        np.testing.assert_array_equal(taken[:, 1], kept[:, 1])
        assert isinstance(agent.actor, GaussianActor)
        means = agent.actor.forward(obs)
        np.testing.assert_allclose(
            agent._rollout.log_probs[t], density(kept, means, agent.actor.log_std), rtol=1e-4
        )
    outside = agent._rollout.actions[..., 0]
    assert ((outside < -0.5) | (outside > 0.25)).any()
    np.testing.assert_allclose(agent._rollout.actions.std(axis=(0, 1)), 1.0, atol=0.25)


def test_greedy_actions_are_the_means_within_their_bounds():
    agent = PPO(SHAPE, PPOSettings(**SMALL), seed=0)
    assert isinstance(agent.actor, GaussianActor)
    agent.actor.params[:] = np.random.default_rng(0).standard_normal(agent.actor.params.shape)
    obs = np.random.default_rng(1).standard_normal((100, 3)).astype(np.float32)
    parts = [agent.actor.forward(obs[i : i + 32]).copy() for i in range(0, 100, 32)]
    means = np.concatenate(parts)
    np.testing.assert_array_equal(
        agent.greedy(obs), np.clip(means, SHAPE.act_low, SHAPE.act_high).astype(np.float32)
    )


def test_deviations_are_learned_with_the_means_and_kept_where_the_actor_is():
    env = make_batch("rl_impls/Pendulum-v1", 4, seed=0)
    agent = PPO(shape_of(env), PPOSettings(**SMALL), seed=0)
    assert isinstance(agent.actor, GaussianActor)
    np.testing.assert_array_equal(agent.actor.log_std, [0.0])
    train(agent, env, 256)
    assert agent.actor.log_std[0] != 0.0
    assert agent.parameters()[0][-1] == agent.actor.log_std[0]


def test_ranks_refuse_what_they_cannot_share():
    settings = PPOSettings(**SMALL, normalise_obs=True)
    runtime: Any = MpiPPORuntime
    for shape, chosen in ((SHAPE, PPOSettings(**SMALL)), (Shape(4, 3, 2), settings)):
        with pytest.raises(SettingError, match="ranks share a PPO for numbered actions"):
            runtime(PPO(shape, chosen, seed=0), None, None)
