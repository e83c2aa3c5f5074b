"""Merged entries are the mean of what was learned, weighed by visits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.runtimes.board import Board
from rl_impls.runtimes.merge_kernel import merge_table
from rl_impls.runtimes.merging import merge_pairs
from rl_impls.runtimes.replica import replica_of
from rl_impls.tabular import LEARNERS
from tests.rl_impls.runtimes.games import tictactoe

N_PAIRS = 19  # two groups of the compiled merge, and some
LAST_COUNT = 2**32 - 1


@st.composite
def workers(draw):
    """For each worker the value and the number of visits of every pair; 0 visits: not learned."""
    n_workers = draw(st.integers(1, 4))
    values = st.lists(st.sampled_from([0.5, -0.25, 0.125, 1.0]), min_size=N_PAIRS, max_size=N_PAIRS)
    visits = st.lists(st.integers(0, 1000), min_size=N_PAIRS, max_size=N_PAIRS)
    return [(np.array(draw(values)), np.array(draw(visits), np.uint32)) for _ in range(n_workers)]


def weighed_mean(learned, before):
    """The sums of n * Q and of n, as the rule says it."""
    n_q = sum(values * visits for values, visits in learned)
    n = sum(visits.astype(np.float64) for _, visits in learned)
    return np.where(n > 0, n_q / np.maximum(n, 1), before)


@settings(deadline=None)
@given(workers(), st.integers(LAST_COUNT - 500, LAST_COUNT))
def test_workers_that_merge_one_after_another_reach_the_weighed_mean(learned, count):
    # Counts begin so high that many wrap around.
    q = np.full(N_PAIRS, 0.5, np.float32)
    n = np.full(N_PAIRS, count, np.uint32)
    views = [n.copy() for _ in learned]
    for (values, visits), seen in zip(learned, views, strict=True):
        own = np.flatnonzero(visits)
        merge_pairs(q, n, seen, own, visits[own], values[own])
        np.testing.assert_array_equal(seen, n)
    np.testing.assert_allclose(q, weighed_mean(learned, 0.5), atol=1e-5)


def test_a_worker_is_told_what_others_learned_and_only_that():
    q, n = np.zeros(4, np.float32), np.array([0, 3, 0, 7], np.uint32)
    seen = np.array([0, 3, 0, 5], np.uint32)
    others = merge_pairs(q, n, seen, np.array([1]), np.array([2], np.uint32), np.array([1.0]))
    assert others.tolist() == [3]
    assert n.tolist() == [0, 5, 0, 7]


@settings(deadline=None)
@given(workers(), st.integers(1, 8))
def test_the_compiled_merge_does_what_the_plain_one_does(learned, steps_per_visit):
    plain_q, plain_n = np.full(N_PAIRS, 0.5, np.float32), np.zeros(N_PAIRS, np.uint32)
    q, n = plain_q.copy(), plain_n.copy()
    for values, visits in learned:
        q_own = values.astype(np.float32)
        own = np.flatnonzero(q_own != np.float32(0.5))
        weights = (1 + steps_per_visit * visits).astype(np.uint32)
        merge_pairs(plain_q, plain_n, np.zeros_like(plain_n), own, weights[own], q_own[own])
        seen, q_seen = np.zeros_like(n), np.full(N_PAIRS, 0.5, np.float32)
        counted = visits.copy()
        merge_table(q, n, seen, q_own, q_seen, counted, steps_per_visit)
        np.testing.assert_array_equal(q_own, q)
        assert not counted[own].any()
    np.testing.assert_allclose(q, plain_q, atol=1e-6)
    np.testing.assert_array_equal(n, plain_n)


@pytest.mark.parametrize("name", LEARNERS)
def test_replicas_agree_with_the_board_once_all_have_merged(name):
    env = tictactoe(seed=3)
    board = Board(env.n_states, env.n_actions, 2)
    learners = [LEARNERS[name](env.n_states, env.n_actions, seed=seed) for seed in (1, 2)]
    replicas = [replica_of(learner, board) for learner in learners]
    for seed, replica in enumerate(replicas):
        replica.prepare(tictactoe(seed=seed))
        replica.train(tictactoe(seed=seed), 800)
    for replica in (*replicas, replicas[0]):
        replica.merge()
    assert np.isfinite(board.q).all()
    assert np.count_nonzero(board.q) > 50
    for learner in learners:
        np.testing.assert_allclose(learner.table(), board.q, atol=1e-6)
