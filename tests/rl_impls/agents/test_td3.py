"""TD3: its targets, gradients and delays against plain ones."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from rl_impls.agents.agent import Shape, shape_of, train
from rl_impls.agents.choices import standard_normal
from rl_impls.agents.td3 import TD3, TD3Settings, perturbed
from rl_impls.agents.twin_critics import LEARNING
from rl_impls.envs.control.make import make_batch
from rl_impls.errors import SettingError
from tests.rl_impls.agents.differences import numeric_gradient

SMALL: Any = {"hidden": (6,), "batch": 8, "buffer": 100, "learning_starts": 10}
SHAPE = Shape(1, 3, act_size=2, act_low=(-2.0, 0.0), act_high=(2.0, 1.0))


def layers(net, params):
    """A network's weights and biases, taken apart by its sizes."""
    at = 0
    for fan_in, fan_out in pairwise(net.sizes):
        weight = params[at : at + fan_in * fan_out].reshape(fan_in, fan_out)
        at += fan_in * fan_out
        yield weight, params[at : at + fan_out]
        at += fan_out


def forward(net, x, params=None):
    """ReLU in between, and at the end what the network has, in 64 bits."""
    *hidden, last = layers(net, np.asarray(net.params if params is None else params, np.float64))
    for weight, bias in hidden:
        x = np.maximum(x @ weight + bias, 0.0)
    return x @ last[0] + last[1]


def best_of(net, obs, params=None):
    return np.tanh(forward(net, obs, params))


def filled(**settings):
    """An agent with a replay of chance, whose copies are not what they follow."""
    agent = TD3(SHAPE, TD3Settings(**SMALL, **settings), seed=0)
    rng = np.random.default_rng(1)
    for _ in range(40):
        obs_tm1, obs_t = rng.standard_normal((2, 3))
        agent.replay.add(obs_tm1, rng.uniform(-1, 1, 2), rng.normal(), obs_t, rng.random() < 0.3)
    for net in (agent.actor, *agent.critics, *agent.targets, agent.actor_target):
        net.params[:] = rng.normal(0.0, 0.7, net.params.shape)
    return agent


def test_noise_is_bounded_and_so_are_actions_with_it():
    rng = np.random.default_rng(0)
    actions, noise = rng.uniform(-1, 1, (50, 3)), 2 * rng.standard_normal((50, 3))
    out = np.zeros_like(actions)
    perturbed(actions, noise, 0.3, 0.4, out)
    np.testing.assert_allclose(out, np.clip(actions + np.clip(0.3 * noise, -0.4, 0.4), -1, 1))
    assert (np.abs(out) == 1.0).any()
    assert np.isclose(np.abs(out - actions), 0.4).any()


def test_critics_learn_towards_the_smaller_value_of_a_smoothed_action():
    agent = filled(target_noise=0.6, target_clip=0.7)
    chance, noise = agent._chance.copy(), np.zeros((8, 2), np.float32)
    standard_normal(chance, LEARNING, noise)
    batch = agent.replay.sample()
    smoothed = best_of(agent.actor_target, batch.obs_t) + np.clip(0.6 * noise, -0.7, 0.7)
    x_t = np.hstack([batch.obs_t, np.clip(smoothed, -1, 1)])
    smaller = np.minimum(*(forward(target, x_t)[:, 0] for target in agent.targets))
    goals = batch.r_t + 0.99 * ~batch.terminated_t * smaller
    x_tm1 = np.hstack([batch.obs_tm1, batch.a_tm1])
    wants = [
        numeric_gradient(
            lambda at, net=critic: ((forward(net, x_tm1, at)[:, 0] - goals) ** 2).mean() / 2,
            critic.params,
        )
        for critic in agent.critics
    ]
    agent._update_critics(batch)
    np.testing.assert_allclose(agent._goals, goals, rtol=1e-5)
    for critic, want in zip(agent.critics, wants, strict=True):
        np.testing.assert_allclose(critic.grads, want, rtol=1e-3, atol=1e-5)


def test_the_actor_climbs_the_first_critic():
    agent = filled()
    obs = agent.replay.sample().obs_tm1.copy()

    def loss(at):
        chosen = best_of(agent.actor, obs, at)
        return -forward(agent.critics[0], np.hstack([obs, chosen])).mean()

    want = numeric_gradient(loss, agent.actor.params)
    agent._update_actor(obs)
    np.testing.assert_allclose(agent.actor.grads, want, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("delay", [1, 2, 3])
def test_the_actor_and_all_copies_wait_for_their_turn(delay):
    agent = filled(actor_every=delay)
    pairs = [
        (agent.actor_target, agent.actor),
        *zip(agent.targets, agent.critics, strict=True),
    ]
    for n in range(1, 7):
        before = [target.params.copy() for target, _ in pairs]
        actor = agent.actor.params.copy()
        agent.update()
        due = n % delay == 0
        assert due != np.array_equal(agent.actor.params, actor)
        for (target, net), old in zip(pairs, before, strict=True):
            want = old + 0.005 * (net.params - old) if due else old
            np.testing.assert_allclose(target.params, want, rtol=1e-5, atol=1e-7)
    assert agent._adams["critic_1"].n_steps == 6
    assert agent._adams["actor"].n_steps == 6 // delay


def test_it_acts_at_random_first_then_around_what_is_best_and_greedily_without_noise():
    shape = SHAPE._replace(n_envs=2000)
    agent = TD3(shape, TD3Settings(hidden=(6,), batch=8, noise=0.05, buffer=4000), seed=0)
    obs = np.zeros((2000, 3), np.float32)
    low, high = np.array(SHAPE.act_low), np.array(SHAPE.act_high)
    first = (agent.act(obs) - low) / (high - low)
    np.testing.assert_allclose(first.mean(axis=0), 0.5, atol=0.03)
    np.testing.assert_allclose(first.std(axis=0), 1 / np.sqrt(12), atol=0.02)
    agent.n_steps = 1000
    best = agent.greedy(obs)
    np.testing.assert_allclose(best, low + (high - low) * (best_of(agent.actor, obs) + 1) / 2, 1e-5)
    pushed = 2 * (agent.act(obs) - best) / (high - low)
    np.testing.assert_allclose(pushed.mean(axis=0), 0.0, atol=0.005)
    np.testing.assert_allclose(pushed.std(axis=0), 0.05, atol=0.005)
    quiet = TD3(SHAPE, TD3Settings(**SMALL, noise=0.0), seed=0)
    quiet.n_steps = 10
    np.testing.assert_array_equal(quiet.act(obs[:1]), quiet.greedy(obs[:1]))


def test_updates_come_once_a_step_of_each_environment():
    env = make_batch("rl_impls/Pendulum-v1", 2, seed=0)
    agent = TD3(shape_of(env), TD3Settings(**SMALL), seed=0)
    train(agent, env, 40)
    counts = {name: adam.n_steps for name, adam in agent._adams.items()}
    assert counts == {"actor": 16, "critic_1": 32, "critic_2": 32}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"noise": -0.1}, r"noise is 0 or more, not -0\.1"),
        ({"target_noise": float("nan")}, "target_noise is 0 or more, not nan"),
        ({"target_clip": 0.0}, r"target_clip lies above 0, not at 0\.0"),
        ({"actor_every": 0}, "actor_every is at least 1, not 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, says):
    with pytest.raises(SettingError, match=says):
        TD3Settings(**wrong)


def test_numbered_actions_are_refused():
    with pytest.raises(SettingError, match="TD3 chooses continuous actions"):
        TD3(Shape(1, 4, 2))
