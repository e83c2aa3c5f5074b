"""Q-learning: one update against the textbook, and a whole run against value iteration."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.envs.chain import LEFT, RIGHT, ChainEnv
from rl_impls.tabular.q_learning import QLearner, q_learning_error

values = st.floats(-10, 10)


def optimal_q(n_states, slip, temptation, discount):
    """Value iteration on the chain, written from its description."""
    q = np.zeros((n_states, 2))
    for _ in range(2000):
        v = q.max(axis=1)
        v[-1] = 0.0  # nothing comes after the last state
        for s in range(n_states - 1):
            stay = slip * discount * v[s]
            prize = 1.0 if s + 1 == n_states - 1 else 0.0
            q[s, RIGHT] = stay + (1 - slip) * (prize + discount * v[s + 1])
            lure = temptation if s == 0 else 0.0
            q[s, LEFT] = stay + (1 - slip) * (lure + discount * v[max(s - 1, 0)])
    return q


def train(env, learner, n_steps, seed):
    s_tm1, _ = env.reset(seed=seed)
    for _ in range(n_steps):
        a_tm1 = learner.act(s_tm1)
        s_t, r_t, terminated, truncated, _ = env.step(a_tm1)
        learner.learn(s_tm1, a_tm1, r_t, s_t, terminated=terminated)
        s_tm1 = env.reset()[0] if terminated or truncated else s_t


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("temptation", "policy"),
    [(0.01, [RIGHT, RIGHT, RIGHT, RIGHT]), (0.11, [LEFT, LEFT, RIGHT, RIGHT])],
    ids=["the prize wins", "the temptation wins nearby"],
)
def test_the_greedy_policy_becomes_the_optimal_one(seed, temptation, policy):
    env = ChainEnv(5, slip=0.1, temptation=temptation)
    learner = QLearner(5, 2, step_size=0.02, discount=0.9, epsilon=0.5, seed=seed)
    train(env, learner, 30_000, seed)

    want = optimal_q(5, slip=0.1, temptation=temptation, discount=0.9)
    assert want[:-1].argmax(axis=1).tolist() == policy
    assert [learner.greedy(s) for s in range(4)] == policy
    np.testing.assert_allclose(learner.q, want, atol=0.1)


@given(
    q_tm1=st.lists(values, min_size=3, max_size=3),
    q_t=st.lists(values, min_size=3, max_size=3),
    a_tm1=st.integers(0, 2),
    r_t=values,
    discount_t=st.floats(0, 1),
)
@settings(deadline=None)
def test_the_error_is_target_minus_estimate(q_tm1, q_t, a_tm1, r_t, discount_t):
    want = r_t + discount_t * max(q_t) - q_tm1[a_tm1]
    got = q_learning_error(np.array(q_tm1), a_tm1, r_t, discount_t, np.array(q_t))
    assert got == pytest.approx(want, abs=1e-12)


def learner_with(table, **arguments):
    learner = QLearner(*np.shape(table), **{"seed": 0, **arguments})
    learner.q[:] = table
    return learner


@pytest.mark.parametrize(("terminated", "error"), [(False, 1.0 + 0.5 * 4.0 - 2.0), (True, -1.0)])
def test_learning_moves_one_entry_and_bootstraps_unless_terminated(terminated, error):
    learner = learner_with([[2.0, 0.0], [3.0, 4.0]], step_size=0.1, discount=0.5)
    assert learner.learn(0, 0, 1.0, 1, terminated=terminated) == pytest.approx(error)
    np.testing.assert_allclose(learner.q, [[2.0 + 0.1 * error, 0.0], [3.0, 4.0]])


def test_a_transition_into_its_own_state_uses_the_old_row():
    learner = learner_with([[1.0, 0.0]], step_size=0.5, discount=0.5)
    learner.learn(0, 0, 1.0, 0, terminated=False)
    assert learner.q[0, 0] == pytest.approx(1.0 + 0.5 * (1.0 + 0.5 * 1.0 - 1.0))


def test_acting_is_greedy_except_for_a_share_of_epsilon():
    learner = learner_with([[0.0, 1.0, 0.0, 0.0]], epsilon=0.4)
    counts = np.bincount([learner.act(0) for _ in range(4000)], minlength=4)
    # Any action at 0.1 each, the best one at 0.6 more; 5 standard deviations are 95 and 145.
    assert counts == pytest.approx([400, 2800, 400, 400], abs=145)


def test_equal_values_fall_to_chance():
    learner = learner_with([[1.0, 0.0, 1.0]], epsilon=0.0)
    counts = np.bincount([learner.act(0) for _ in range(2000)], minlength=3)
    assert counts[1] == 0
    assert counts[0] == pytest.approx(1000, abs=112)


def test_equal_seeds_act_equally():
    first, second = (learner_with([[0.0, 0.0]], seed=5) for _ in range(2))
    assert [first.act(0) for _ in range(50)] == [second.act(0) for _ in range(50)]


@pytest.mark.parametrize("name", ["step_size", "discount", "epsilon"])
def test_a_rate_outside_zero_to_one_is_refused_by_name(name):
    arguments: dict[str, Any] = {name: 1.5}
    with pytest.raises(ValueError, match=f"{name} lies between 0 and 1, not at 1.5"):
        QLearner(2, 2, **arguments)


def test_an_empty_table_is_refused():
    with pytest.raises(ValueError, match="not 0 and 2"):
        QLearner(0, 2)
