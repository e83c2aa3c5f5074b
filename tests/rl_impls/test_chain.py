"""The chain environment, against its description written down as a table."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.envs.chain import LEFT, RIGHT, ChainEnv


def expected_move(state, action, n_states, temptation):
    """(next state, reward) of a move that does not slip."""
    if action == LEFT:
        return (0, temptation) if state == 0 else (state - 1, 0.0)
    return (state + 1, 1.0) if state + 1 == n_states - 1 else (state + 1, 0.0)


@settings(deadline=None)
@given(
    n_states=st.integers(2, 6),
    max_steps=st.integers(1, 12),
    actions=st.lists(st.sampled_from([LEFT, RIGHT]), max_size=30),
)
def test_without_slip_every_step_follows_the_table(n_states, max_steps, actions):
    env = ChainEnv(n_states, slip=0.0, temptation=0.25, max_steps=max_steps)
    state, info = env.reset(seed=0)
    assert (state, info) == (0, {})
    for n_steps, action in enumerate(actions, start=1):
        want_state, want_reward = expected_move(state, action, n_states, 0.25)
        state, reward, terminated, truncated, _ = env.step(action)
        assert (state, reward) == (want_state, want_reward)
        assert terminated == (state == n_states - 1)
        assert truncated == (not terminated and n_steps == max_steps)
        if terminated or truncated:
            break


def test_a_slipped_move_changes_and_pays_nothing():
    env = ChainEnv(slip=0.5, temptation=0.25, max_steps=2000)
    env.reset(seed=1)
    rewards = [env.step(LEFT)[1] for _ in range(2000)]
    assert set(rewards) == {0.0, 0.25}
    # 2000 fair coins: 5 standard deviations are 112.
    assert abs(rewards.count(0.25) - 1000) < 112


def rollout(env, seed, n_steps=50):
    env.reset(seed=seed)
    return [env.step(i % 2)[:4] for i in range(n_steps)]


def test_equal_seeds_give_equal_episodes_and_others_do_not():
    assert rollout(ChainEnv(slip=0.3), 7) == rollout(ChainEnv(slip=0.3), 7)
    assert rollout(ChainEnv(slip=0.3), 7) != rollout(ChainEnv(slip=0.3), 8)


def test_a_reset_without_a_seed_goes_on_with_the_same_stream():
    env = ChainEnv(slip=0.3)
    assert rollout(env, 7) != rollout(env, None)


@pytest.mark.parametrize("max_steps", [1, 100], ids=["truncated", "terminated"])
def test_stepping_past_the_end_is_refused(max_steps):
    env = ChainEnv(2, slip=0.0, max_steps=max_steps)
    env.reset()
    env.step(RIGHT if max_steps > 1 else LEFT)
    with pytest.raises(RuntimeError, match="call reset"):
        env.step(RIGHT)


def test_stepping_before_the_first_reset_is_refused():
    with pytest.raises(RuntimeError, match="call reset"):
        ChainEnv().step(RIGHT)


def test_an_unknown_action_is_refused():
    env = ChainEnv()
    env.reset()
    with pytest.raises(ValueError, match="not 2"):
        env.step(2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_states": 1}, "at least 2 states"),
        ({"slip": 1.0}, "slip is a probability below 1"),
        ({"max_steps": 0}, "at least 1 step"),
    ],
)
def test_an_impossible_chain_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ChainEnv(**arguments)
