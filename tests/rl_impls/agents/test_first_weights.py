"""The weights that agents begin with: their distribution, and that copies begin as copies."""

import math

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from rl_impls.agents.agent import Shape
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.agents.qr_dqn import QRDQN, QRDQNSettings
from rl_impls.agents.sac import SAC, SACSettings
from rl_impls.agents.td3 import TD3, TD3Settings
from rl_impls.nets.mlp import MLP

HIDDEN = (64, 48)
NUMBERED = Shape(1, 8, 6)
CONTINUOUS = Shape(1, 8, act_size=3, act_low=(-1.0,) * 3, act_high=(1.0,) * 3)


def dqn(seed):
    return [DQN(NUMBERED, DQNSettings(hidden=HIDDEN, buffer=300), seed=seed).net]


def qr_dqn(seed):
    return [QRDQN(NUMBERED, QRDQNSettings(hidden=HIDDEN, buffer=300), seed=seed).net]


def sac(seed):
    agent = SAC(CONTINUOUS, SACSettings(hidden=HIDDEN, buffer=300), seed=seed)
    return [agent.actor, *agent.critics]


def td3(seed):
    agent = TD3(CONTINUOUS, TD3Settings(hidden=HIDDEN, buffer=300), seed=seed)
    return [agent.actor, *agent.critics]


@pytest.mark.parametrize("networks", [dqn, qr_dqn, sac, td3])
def test_weights_and_biases_are_uniform_within_one_over_the_root_of_what_comes_in(networks):
    drawn: dict[tuple[int, int], list] = {}
    for seed in range(30):
        for i, net in enumerate(networks(seed)):
            for j, (weight, bias) in enumerate(zip(net.weights, net.biases, strict=True)):
                bound = 1.0 / math.sqrt(len(weight))
                drawn.setdefault((i, j), []).append(np.append(weight, bias) / bound)
    for parts in drawn.values():  # each layer of each network apart, the last ones too
        numbers = np.concatenate(parts)
        assert np.abs(numbers).max() <= 1.0 + 1e-6
        assert stats.kstest(numbers, stats.uniform(-1.0, 2.0).cdf).pvalue > 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_ppo_begins_with_orthogonal_layers_and_an_actor_that_favours_nothing(seed):
    agent = PPO(NUMBERED, PPOSettings(hidden=HIDDEN, horizon=64), seed=seed)
    assert isinstance(agent.actor, MLP)
    for net, last in ((agent.actor, 0.01), (agent.critic, 1.0)):
        for weight, gain in zip(net.weights, (math.sqrt(2), math.sqrt(2), last), strict=True):
            wide = weight.T if weight.shape[0] > weight.shape[1] else weight
            product = wide @ wide.T / gain**2
            np.testing.assert_allclose(product, np.eye(len(wide)), atol=1e-5)
        assert not any(bias.any() for bias in net.biases)


def test_no_direction_is_likelier_than_another_in_an_orthogonal_layer():
    entries = [PPO(NUMBERED, PPOSettings(horizon=64), seed=s).critic.weights[0] for s in range(30)]
    assert abs(np.mean(entries)) < 4 * np.std(entries) / math.sqrt(np.size(entries))


def test_what_follows_a_network_begins_as_its_copy_and_twins_begin_apart():
    value = DQN(NUMBERED, DQNSettings(hidden=HIDDEN, buffer=300), seed=1)
    assert np.array_equal(value.net.params, value.target.params)
    soft = SAC(CONTINUOUS, SACSettings(hidden=HIDDEN, buffer=300), seed=1)
    delayed = TD3(CONTINUOUS, TD3Settings(hidden=HIDDEN, buffer=300), seed=1)
    for agent in (soft, delayed):
        for critic, target in zip(agent.critics, agent.targets, strict=True):
            assert np.array_equal(critic.params, target.params)
        assert not np.array_equal(agent.critics[0].params, agent.critics[1].params)
    assert np.array_equal(delayed.actor.params, delayed.actor_target.params)


@pytest.mark.parametrize("networks", [dqn, qr_dqn, sac, td3])
def test_equal_seeds_begin_equal_and_others_do_not(networks):
    for first, same, other in zip(networks(5), networks(5), networks(6), strict=True):
        assert np.array_equal(first.params, same.params)
        assert not np.array_equal(first.params, other.params)
