"""Running means and variances beside those of everything at once, and an agent that learns by
them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.agents.agent import Shape, shape_of, train
from rl_impls.agents.evaluation import BestCheckpoint, evaluate
from rl_impls.agents.normalising import EPS, MOST, RewardScale, RunningMoments
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.envs.control.make import make_batch
from rl_impls.envs.control.step import PartlyIdle, Step

PENDULUM = "rl_impls/Pendulum-v1"
SMALL: Any = {"hidden": (8,), "horizon": 32, "minibatch": 16, "n_epochs": 2}
BOTH: Any = {"normalise_obs": True, "normalise_rewards": True}


@settings(deadline=None)  # the first one is compiled
@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=6), st.floats(-1e3, 1e3), st.integers(0, 99)
)
def test_moments_are_those_of_all_rows_whatever_parts_they_come_in(lengths, shift, seed):
    rng = np.random.default_rng(seed)
    parts = [(rng.standard_normal((n, 3)) + shift).astype(np.float32) for n in lengths]
    moments = RunningMoments(3)
    for part in parts:
        moments.take_in(part)
    rows = np.concatenate(parts).astype(np.float64)
    assert moments.arrays["count"][0] == len(rows)
    if len(rows):
        np.testing.assert_allclose(moments.arrays["mean"], rows.mean(axis=0), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(moments.variance, rows.var(axis=0), rtol=1e-6, atol=1e-9)


def test_rows_are_brought_to_one_scale_and_kept_within_its_bounds():
    rng = np.random.default_rng(0)
    seen = rng.normal([5.0, -1.0, 0.0], [2.0, 0.1, 1e-9], (500, 3))
    moments = RunningMoments(3)
    moments.take_in(seen)
    rows = np.array([[7.0, -1.1, 0.0], [1000.0, 1000.0, -1000.0]], np.float32)
    want = (rows - seen.mean(axis=0)) / np.sqrt(seen.var(axis=0) + EPS)
    got = moments.on_one_scale(rows)
    np.testing.assert_allclose(got, np.clip(want, -MOST, MOST), rtol=1e-5, atol=1e-6)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got[1], [MOST, MOST, -MOST])


def steps(n, n_envs, seed=0):
    """Steps of chance, some of which end episodes, and some of which only begin one."""
    rng = np.random.default_rng(seed)
    obs = (3 * rng.standard_normal((n + 1, n_envs, 3)) + 1).astype(np.float32)
    for t in range(n):
        terminated, truncated, idle = rng.random((3, n_envs)) < [[0.15], [0.1], [0.1]]
        r_t = np.where(idle, 0.0, rng.normal(-4.0, 3.0, n_envs)).astype(np.float32)
        led_to = obs[t + 1] + 0.5 * (terminated | truncated)[:, None].astype(np.float32)
        step = Step(led_to, r_t, terminated & ~idle, truncated & ~idle, obs[t + 1], obs[t])
        yield PartlyIdle.of(step, idle)


def test_rewards_are_divided_by_the_deviation_of_their_discounted_sums():
    scale, all_sums, sums = RewardScale(2, 0.9), [], [0.0, 0.0]
    for step in steps(60, 2):
        got = scale.scaled(step)
        for env in range(2):
            sums[env] = 0.9 * sums[env] + float(step.r_t[env])
            if step.idle is not None and not step.idle[env]:
                all_sums.append(sums[env])
        deviation = np.sqrt(np.var(all_sums) + EPS) if all_sums else np.sqrt(EPS)
        np.testing.assert_allclose(got, np.clip(step.r_t / deviation, -MOST, MOST), rtol=1e-4)
        for env in range(2):
            if step.terminated[env] or step.truncated[env]:
                sums[env] = 0.0


def test_an_agent_learns_what_a_plain_one_learns_from_steps_on_one_scale():
    shape = Shape(2, 3, act_size=1, act_low=(-2.0,), act_high=(2.0,))
    agent = PPO(shape, PPOSettings(**SMALL, **BOTH), seed=0)
    plain = PPO(shape, PPOSettings(**SMALL), seed=0)
    moments, scale = RunningMoments(3), RewardScale(2, 0.99)
    for step in steps(64, 2):
        actions = agent.act(step.obs_tm1)
        moments.take_in(step.obs_tm1)
        seen = moments.on_one_scale(step.obs_tm1)
        np.testing.assert_array_equal(actions, plain.act(seen))
        agent.observe(step)
        led_to, upcoming = (moments.on_one_scale(obs) for obs in (step.obs_t, step.next_obs))
        changed = step._replace(
            obs_t=led_to, next_obs=upcoming, obs_tm1=seen, r_t=scale.scaled(step)
        )
        assert step.idle is not None
        plain.observe(PartlyIdle.of(Step(*changed), step.idle))
    assert agent.n_updates == plain.n_updates > 0
    np.testing.assert_array_equal(agent.actor.params, plain.actor.params)
    np.testing.assert_array_equal(agent.critic.params, plain.critic.params)
    np.testing.assert_array_equal(agent.greedy(step.obs_tm1), plain.greedy(seen))


def trained(seed=0, n_steps=200, **other):
    env = make_batch(PENDULUM, 2, seed=seed)
    agent = PPO(shape_of(env), PPOSettings(**SMALL, **(other or BOTH)), seed=seed)
    train(agent, env, n_steps)
    return agent


def test_who_only_plays_changes_nothing_and_a_checkpoint_brings_the_scale_back():
    agent = trained()
    before = [array.copy() for array in agent.parameters()]
    first = evaluate(agent, PENDULUM, 3)
    for array, own in zip(before, agent.parameters(), strict=True):
        np.testing.assert_array_equal(array, own)
    best = BestCheckpoint(lambda agent: evaluate(agent, PENDULUM, 3).mean())
    best.judge(agent)
    env = make_batch(PENDULUM, 2, seed=5)
    train(agent, env, 200)
    assert not np.array_equal(evaluate(agent, PENDULUM, 3), first)
    best.restore_best(agent)
    np.testing.assert_array_equal(evaluate(agent, PENDULUM, 3), first)


def test_the_scale_is_saved_with_the_agent(tmp_path):
    agent = trained()
    agent.save(tmp_path / "agent.npz")
    again = PPO.load(tmp_path / "agent.npz")
    assert again.settings.normalise_obs
    np.testing.assert_array_equal(evaluate(agent, PENDULUM, 3), evaluate(again, PENDULUM, 3))


@pytest.mark.parametrize(
    ("name", "wrong"), [("squares", -1.0), ("mean", np.nan), ("count", -1.0), ("count", np.inf)]
)
def test_moments_of_no_rows_are_refused(name, wrong):
    moments = RunningMoments(2)
    state = moments.state()
    state[name][0] = wrong
    with pytest.raises(ValueError, match=f"{name} of no moments"):
        moments.set_state(state)


@pytest.mark.parametrize("name", ["normalise_obs", "normalise_rewards"])
def test_settings_of_an_early_release_know_no_scale(name):
    data = PPOSettings().as_data()
    del data[name]
    assert PPOSettings.from_data(data) == PPOSettings()
