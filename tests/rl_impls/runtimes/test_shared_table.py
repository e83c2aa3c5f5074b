"""Steps are shared by measured speed, and none is lost or made up."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.runtimes.shared_table import (
    NEWS,
    Board,
    blended,
    merge_pairs,
    next_piece,
    replica_of,
    shares,
)
from rl_impls.tabular import LEARNERS
from rl_impls.tabular.kernels import merge_table
from tests.rl_impls.runtimes.games import tictactoe

SPEEDS = st.lists(st.floats(0.0, 1e9), min_size=1, max_size=16)


@settings(deadline=None)
@given(st.integers(0, 10**12), SPEEDS)
def test_shares_sum_to_the_total_and_none_is_negative(total, speeds):
    parts = shares(total, speeds)
    assert sum(parts) == total
    assert min(parts) >= 0


@settings(deadline=None)
@given(st.integers(0, 10**6), st.lists(st.floats(1.0, 1e6), min_size=1, max_size=8))
def test_a_share_is_within_one_step_of_its_proportion(total, speeds):
    for part, speed in zip(shares(total, speeds), speeds, strict=True):
        assert part == pytest.approx(total * speed / sum(speeds), abs=1.0 + 1e-6)


def test_twice_as_fast_is_twice_the_work():
    assert shares(300, [10.0, 20.0]) == [100, 200]


def test_an_unknown_speed_counts_as_the_mean_of_the_known_ones():
    assert shares(450, [10.0, 0.0, 20.0]) == [100, 150, 200]
    assert shares(90, [0.0, 0.0, 0.0]) == [30, 30, 30]
    assert shares(60, [10.0, 10.0, 0.0]) == [20, 20, 20]


@settings(deadline=None)
@given(st.integers(1, 10**6), st.lists(st.floats(0.0, 1e6), min_size=1, max_size=4), st.data())
def test_pieces_taken_in_any_order_make_exactly_the_total(total, speeds, data):
    steps_per_sync = data.draw(st.integers(max(1, total // 50), total + 5))
    left, pieces = total, []
    while left:
        worker = data.draw(st.integers(0, len(speeds) - 1))
        piece = next_piece(left, speeds, worker, steps_per_sync)
        assert 1 <= piece <= steps_per_sync
        pieces.append(piece)
        left -= piece
    assert sum(pieces) == total


def test_pieces_shrink_towards_the_end_so_that_all_end_together():
    assert next_piece(100_000, [1.0, 1.0], 0, 1_000) == 1_000
    assert next_piece(1_000, [1.0, 1.0], 0, 1_000) == 250
    assert next_piece(1_000, [3.0, 1.0], 0, 1_000) == 375
    assert next_piece(10, [1.0, 1.0], 0, 1_000) == 10


def test_a_measured_speed_follows_the_latest_one_slowly():
    assert blended(0.0, 10.0) == pytest.approx(10.0)
    assert blended(10.0, 20.0) == pytest.approx(10.0 + 10.0 * NEWS)


# Merged entries are the mean of what was learned, weighed by visits.


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
