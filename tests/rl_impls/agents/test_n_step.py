"""Returns of several steps: by their definition, for any endings of episodes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.agents.agent import Shape, shape_of, train
from rl_impls.agents.dqn import DQN, DQNSettings, PixelSettings
from rl_impls.agents.n_step import Windows
from rl_impls.envs.control.make import make_batch
from rl_impls.envs.control.step import PartlyIdle, Step
from rl_impls.errors import SettingError
from rl_impls.replay.uniform import UniformReplay

DISCOUNT = 0.9
GOES_ON, TERMINATES, IS_CUT, BOTH, IDLE = range(5)


def told(steps):
    """The steps of each environment as batches: what is seen is the number of the step."""
    for t, ends in enumerate(steps):
        n = len(ends)
        obs = np.array([[env, t] for env in range(n)], np.float32)
        r_t = np.array([(7 * t + 3 * env) % 5 - 2 for env in range(n)], np.float32)
        terminated = np.isin(ends, (TERMINATES, BOTH))
        truncated = np.isin(ends, (IS_CUT, BOTH))
        step = Step(obs + 0.5, r_t, terminated, truncated, obs, obs)
        idle = np.array([end == IDLE for end in ends])
        yield PartlyIdle.of(step, idle), np.arange(n) * 100 + t


def by_definition(steps, env, n):
    """Every window of an environment, from its first step on, as a list of numbers."""
    mine = [
        (step.obs_tm1[env], actions[env], step.r_t[env], step.obs_t[env], ends)
        for (step, actions), ends in zip(told(steps), [row[env] for row in steps], strict=True)
        if ends != IDLE
    ]
    for t, (obs, action, _, _, _) in enumerate(mine):
        total = 0.0
        for k, (_, _, reward, led_to, end) in enumerate(mine[t : t + n]):
            total += DISCOUNT**k * reward
            over = end in (TERMINATES, BOTH)
            if over or k == n - 1:
                yield [*obs, action, total, *led_to, over]
            if over or end == IS_CUT:
                break


@settings(deadline=None)  # the first one is compiled
@given(st.integers(1, 4), st.integers(1, 3), st.data())
def test_windows_are_those_of_the_definition(n, n_envs, data):
    ends = st.lists(st.sampled_from(range(5)), min_size=n_envs, max_size=n_envs)
    steps = data.draw(st.lists(ends, min_size=1, max_size=15))
    windows = Windows(n_envs, 2, n, DISCOUNT)
    found = [
        [*row.obs_tm1[i], row.a_tm1[i], row.r_t[i], *row.obs_t[i], row.terminated_t[i]]
        for step, actions in told(steps)
        for row in [windows.push(step, actions)]
        for i in range(len(row))
    ]
    wanted = [row for env in range(n_envs) for row in by_definition(steps, env, n)]
    by_beginning = sorted(found, key=lambda row: (row[0], row[1]))
    np.testing.assert_allclose(
        np.array(by_beginning, float).reshape(-1, 7), np.array(wanted, float).reshape(-1, 7),
        rtol=1e-6,
    )  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from(range(5)), min_size=2, max_size=2), max_size=12))
def test_windows_of_one_step_are_the_steps(steps):
    windows, plain, wide = (
        Windows(2, 2, 1, DISCOUNT),
        *(UniformReplay(100, 2, batch_size=1, seed=0) for _ in range(2)),
    )
    for step, actions in told(steps):
        plain.add_step(step, actions)
        wide.add_batch(windows.push(step, actions))
    for name, array in plain.state().items():
        np.testing.assert_array_equal(array, wide.state()[name], err_msg=name)


SMALL = DQNSettings(
    hidden=(8,), batch=4, buffer=60, learning_starts=1, update_every=1, n_step=3, discount=0.5
)


def test_an_agent_learns_once_a_window_is_whole_and_bootstraps_by_the_discount_of_all_its_steps():
    env = make_batch("rl_impls/CartPole-v1", 1, seed=0)
    agent = DQN(shape_of(env), SMALL, seed=0)
    train(agent, env, 2)
    assert (len(agent.replay), agent.updates_made) == (0, 0)
    train(agent, env, 3)
    assert (len(agent.replay), agent.updates_made) == (3, 3)
    batch = agent.replay.sample()
    np.testing.assert_array_equal(batch.r_t, 1.75)
    best = agent.net.forward(batch.obs_t).argmax(axis=1)
    rows = np.arange(4)
    goal = 1.75 + 0.125 * agent.target.forward(batch.obs_t)[rows, best]
    error = agent.net.forward(batch.obs_tm1)[rows, batch.a_tm1] - goal
    assert agent._differentiate(batch) == pytest.approx((error**2).mean() / 2, rel=1e-5)


def test_what_waits_is_forgotten_where_environments_begin_anew():
    env = make_batch("rl_impls/CartPole-v1", 2, seed=0)
    agent = DQN(shape_of(env), SMALL, seed=0)
    train(agent, env, 4)
    agent.cut()
    train(agent, env, 4)
    assert len(agent.replay) == 0
    train(agent, env, 2)
    assert len(agent.replay) == 2


def test_who_hands_on_single_steps_refuses_longer_ones():
    with pytest.raises(SettingError, match="learns from single steps: leave dueling and n_step"):
        PixelSettings(n_step=2)
    with pytest.raises(SettingError, match="n_step is at least 1, not 0"):
        DQNSettings(n_step=0)


def test_damaged_windows_are_refused():
    agent = DQN(Shape(1, 4, 2), SMALL, seed=0)
    state = agent.state()
    state["windows.firsts"][0] = 3
    with pytest.raises(ValueError, match="firsts of a window beyond its 3 steps"):
        agent.set_state(state)
