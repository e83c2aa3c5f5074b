"""PPO: its equations against plain ones, its bootstrap."""

import numpy as np
import pytest

from rl_impls.agents.agent import Shape
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.agents.rollout import (
    clipped_policy_loss,
    gae,
    gather_minibatch,
    minibatch_moments,
    value_loss,
)
from rl_impls.envs.control.step import Step
from rl_impls.errors import SettingError
from tests.rl_impls.agents.differences import numeric_gradient

CLIP, BONUS = 0.2, 0.03


def experience(n_steps=9, n_envs=3, seed=0):
    rng = np.random.default_rng(seed)
    r_t, v_tm1, v_t = rng.standard_normal((3, n_steps, n_envs))
    terminated = rng.random((n_steps, n_envs)) < 0.2
    ended = terminated | (rng.random((n_steps, n_envs)) < 0.2)
    return r_t, v_tm1, v_t, terminated, ended


def naive_advantage(t, row, arrays, discount, trace):
    """The sum of equation 16 itself: discounted errors until the episode ends."""
    r_t, v_tm1, v_t, terminated, ended = arrays
    total, weight = 0.0, 1.0
    for k in range(t, len(r_t)):
        bootstrap = 0.0 if terminated[k, row] else discount * v_t[k, row]
        total += weight * (r_t[k, row] + bootstrap - v_tm1[k, row])
        if ended[k, row]:
            break
        weight *= discount * trace
    return total


def test_advantages_are_the_sums_of_their_definition():
    r_t, *rest = arrays = experience()
    got = np.zeros_like(r_t)
    gae(r_t, rest[0], rest[1], rest[2], rest[3], 0.9, 0.8, got)
    want = [[naive_advantage(t, i, arrays, 0.9, 0.8) for i in range(3)] for t in range(9)]
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_a_trace_of_one_gives_returns_and_of_zero_errors_of_one_step():
    r_t, v_tm1, v_t, *_ = experience(4, 1)
    never = np.zeros((4, 1), bool)
    # Values that follow from each other, as they do within an episode.
    v_t[:-1] = v_tm1[1:]
    got = np.zeros((4, 1))
    gae(r_t, v_tm1, v_t, never, never, 0.9, 0.0, got)
    np.testing.assert_allclose(got, r_t + 0.9 * v_t - v_tm1)
    gae(r_t, v_tm1, v_t, never, never, 0.9, 1.0, got)
    whole = sum(0.9**k * r_t[k, 0] for k in range(4)) + 0.9**4 * v_t[3, 0]
    assert got[0, 0] == pytest.approx(whole - v_tm1[0, 0])


def batch_of_logits(n=40, n_actions=3, seed=1):
    rng = np.random.default_rng(seed)
    logits = rng.standard_normal((n, n_actions))
    actions = rng.integers(n_actions, size=n)
    old = naive_log_softmax(logits)[np.arange(n), actions] + 0.4 * rng.standard_normal(n)
    return logits, actions, old, rng.standard_normal(n)


def naive_log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def naive_policy_loss(logits, actions, old, advantages):
    log_pi = naive_log_softmax(logits)
    ratio = np.exp(log_pi[np.arange(len(actions)), actions] - old)
    surrogate = np.minimum(ratio * advantages, np.clip(ratio, 1 - CLIP, 1 + CLIP) * advantages)
    entropy = -(np.exp(log_pi) * log_pi).sum(axis=1)
    return -surrogate.mean(), entropy.mean()


def test_the_policy_loss_and_its_gradient_are_those_of_the_equation():
    logits, actions, old, advantages = batch_of_logits()
    rest = actions, old, advantages
    grad = np.zeros_like(logits)
    got = clipped_policy_loss(logits, actions, old, advantages, CLIP, BONUS, grad)
    np.testing.assert_allclose(got, naive_policy_loss(logits, *rest), rtol=1e-12)

    def loss(at):
        surrogate, entropy = naive_policy_loss(at, *rest)
        return surrogate - BONUS * entropy

    np.testing.assert_allclose(grad, numeric_gradient(loss, logits), atol=1e-8)


def test_logits_far_from_zero_overflow_nowhere():
    logits = np.array([[1000.0, 0.0], [-1000.0, 0.0]], np.float32)
    grad = np.zeros_like(logits)
    actions, zeros = np.array([0, 1]), np.zeros(2, np.float32)
    loss, entropy = clipped_policy_loss(logits, actions, zeros, zeros + 1, CLIP, BONUS, grad)
    assert (loss, entropy) == (-1.0, 0.0)
    assert np.isfinite(grad).all()


def test_the_value_loss_and_its_gradient_are_those_of_the_equation():
    rng = np.random.default_rng(2)
    values, returns = rng.standard_normal((12, 1)), rng.standard_normal(12)
    grad = np.zeros_like(values)

    def loss(at):
        return ((at[:, 0] - returns) ** 2).mean()

    assert value_loss(values, returns, 0.5, grad) == pytest.approx(loss(values))
    np.testing.assert_allclose(grad, 0.5 * numeric_gradient(loss, values), atol=1e-8)


def test_a_minibatch_holds_its_rows_with_advantages_of_one_scale():
    rng = np.random.default_rng(3)
    obs, actions = rng.standard_normal((20, 4)), rng.integers(5, size=20)
    log_probs, advantages, values = rng.standard_normal((3, 20))
    rows = rng.permutation(20)[:8]
    to = [np.zeros((8, 4)), np.zeros(8, int), np.zeros(8), np.zeros(8), np.zeros(8)]
    moments = np.zeros((1, 3))
    minibatch_moments(rows, 8, advantages, moments)
    gather_minibatch(rows, obs, actions, log_probs, advantages, values, moments[0], *to)
    chosen = advantages[rows]
    wanted = [obs[rows], actions[rows], log_probs[rows]]
    wanted += [(chosen - chosen.mean()) / chosen.std(ddof=1), chosen + values[rows]]
    for got, want in zip(to, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_moments_are_those_of_each_minibatch_and_of_what_is_left():
    values = np.random.default_rng(4).standard_normal(20)
    order, moments = np.random.default_rng(5).permutation(20), np.zeros((3, 3))
    minibatch_moments(order, 8, values, moments)
    for row, part in zip(moments, (order[:8], order[8:16], order[16:]), strict=True):
        chosen = values[part]
        want = [len(part), chosen.mean(), chosen.var() * len(part)]
        np.testing.assert_allclose(row, want, rtol=1e-12)


def step_of(agent, obs_tm1, r_t, obs_t, terminated, truncated, next_obs):
    agent.act(obs_tm1)
    flags = np.array([terminated]), np.array([truncated])
    agent.observe(Step(obs_t, np.array([r_t], np.float32), *flags, next_obs, obs_tm1))


@pytest.mark.parametrize(
    ("terminated", "truncated"), [(False, False), (False, True), (True, False), (True, True)]
)
def test_only_termination_cuts_the_bootstrap_and_truncation_looks_where_it_led(
    terminated, truncated
):
    agent = PPO(Shape(1, 2, 2), PPOSettings(horizon=2, minibatch=2, learning_rate=0.0), seed=0)
    places = np.random.default_rng(0).standard_normal((4, 1, 2)).astype(np.float32)
    v_0, v_1, v_2, v_3 = (float(agent.critic.forward(place)[0, 0]) for place in places)
    # From 0 to 1; on from there, or from 2 where the episode ended.
    begin = 2 if terminated or truncated else 1
    step_of(agent, places[0], 1.0, places[1], terminated, truncated, places[begin])
    step_of(agent, places[begin], 2.0, places[3], False, False, places[3])
    second = 2.0 + 0.99 * v_3 - (v_2 if begin == 2 else v_1)
    first = 1.0 + (0.0 if terminated else 0.99 * v_1) - v_0
    first += 0.0 if begin == 2 else 0.99 * 0.95 * second
    np.testing.assert_allclose(agent._rollout.advantages[:, 0], [first, second], rtol=1e-5)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"horizon": 0}, "horizon is at least 1, not 0"),
        ({"clip": 1.5}, "clip lies between 0 and 1, not at 1.5"),
        ({"hidden": ()}, "hidden names the width of at least 1 layer"),
        ({"max_norm": 0.0}, "max_norm lies above 0"),
        ({"entropy_weight": -1.0}, "entropy_weight is 0 or more, not -1.0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, says):
    with pytest.raises(SettingError, match=says):
        PPOSettings(**wrong)


def test_a_horizon_that_cannot_be_shared_is_refused():
    with pytest.raises(SettingError, match="cannot be shared by 3 environments"):
        PPO(Shape(3, 4, 2))


def test_a_linear_learning_rate_ends_at_zero_with_the_steps_it_was_given():
    settings = PPOSettings(linear_over=8192, learning_rate=1e-3)
    rate = settings.rate()
    n_updates = 4 * 10 * 8
    assert rate.at(0) == 1e-3
    assert rate.at(n_updates // 2) == pytest.approx(5e-4)
    assert rate.at(n_updates) == 0.0
    assert PPOSettings().rate().at(10**9) == 3e-4
