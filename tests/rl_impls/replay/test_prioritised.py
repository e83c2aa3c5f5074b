"""Prioritised replay: the tree against sums, draws against priorities, slots against a list."""

from collections import deque
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rl_impls.jit import compiled
from rl_impls.replay import kernels, plain
from rl_impls.replay.kernels import child_at
from rl_impls.replay.layout import Transitions, empty_tree, ends_of
from rl_impls.replay.prioritised import PrioritisedReplay

ALPHA, EPS = 0.6, 1e-6
anyhow = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def numbered(first, n):
    new = Transitions.zeros(n, 2)
    new.a_tm1[:] = np.arange(first, first + n)
    new.r_t[:] = -new.a_tm1
    return new


def filled(n, capacity=None, batch_size=64, **options):
    options = {"seed": 0, "alpha": ALPHA, "eps": EPS, **options}
    replay = PrioritisedReplay(capacity or n, 2, batch_size=batch_size, **options)
    replay.add_batch(numbered(0, n))
    return replay


class Naive:
    """A list of [number, priority] that forgets its oldest entries."""

    def __init__(self, capacity):
        self.rows: deque[list[float]] = deque(maxlen=capacity)
        self.n_added = 0
        self.top = 1.0

    def add(self, n):
        for _ in range(n):
            self.rows.append([self.n_added, self.top])
            self.n_added += 1

    def update(self, index, td_error):
        for row in self.rows:
            if row[0] == index:
                row[1] = (abs(td_error) + EPS) ** ALPHA
                self.top = max(self.top, row[1])


def assert_tree_holds(replay, naive):
    slots = sorted((number % replay.capacity, priority) for number, priority in naive.rows)
    np.testing.assert_allclose(replay.priorities(), [priority for _, priority in slots], rtol=1e-5)
    assert replay.total() == pytest.approx(replay.priorities().sum(), rel=1e-14)
    # Every node is the sum of its children, to the last bit: nothing drifts.
    leaves, tree, starts = replay._sums
    levels = [*np.split(tree, starts[1:]), leaves]
    for above, below in pairwise(levels):
        sums = [sum(group) for group in below.tolist()]
        assert above.reshape(-1).tolist()[: len(sums)] == sums


moves = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 30)),
        st.tuples(st.just("add one"), st.just(1)),
        st.tuples(st.just("update"), st.lists(
            st.tuples(st.floats(0, 1), st.floats(-1e3, 1e3, width=32)), max_size=9)),
    ),
    min_size=1,
    max_size=12,
)  # fmt: skip


@anyhow
@given(capacity=st.integers(1, 80), moves=moves)
def test_the_tree_holds_what_a_forgetful_list_holds(kind, capacity, moves):
    replay = PrioritisedReplay(capacity, 2, batch_size=4, alpha=ALPHA, eps=EPS, seed=0)
    naive = Naive(capacity)
    for move, what in moves:
        if move == "add":
            replay.add_batch(numbered(naive.n_added, what))
            naive.add(what)
        elif move == "add one":
            number = naive.n_added
            replay.add(np.zeros(2), number, -number, np.zeros(2), False)
            naive.add(1)
        elif naive.n_added:
            # Any transition there ever was, also those that are gone.
            pairs = [(int(where * (naive.n_added - 1)), error) for where, error in what]
            indices = np.array([index for index, _ in pairs], np.int64)
            errors = np.array([error for _, error in pairs], np.float32)
            n = replay.update(indices, errors)
            assert n == sum(index >= naive.n_added - capacity for index in indices.tolist())
            for index, error in pairs:
                naive.update(index, error)
    if naive.n_added:
        assert_tree_holds(replay, naive)
        batch = replay.sample()
        np.testing.assert_array_equal(batch.indices, batch.a_tm1)
        np.testing.assert_array_equal(batch.r_t, -batch.indices)
        assert {*batch.indices.tolist()} <= {number for number, _ in naive.rows}


def test_draws_follow_the_priorities(kind):
    replay = filled(50, batch_size=500)
    errors = np.random.default_rng(1).exponential(size=50).astype(np.float32)
    replay.update(np.arange(50), errors)
    n_batches = 40
    counts = np.zeros(50)
    for _ in range(n_batches):
        counts += np.bincount(replay.sample().a_tm1, minlength=50)
    expected = n_batches * 500 * replay.priorities() / replay.total()
    # Stratified draws vary less than independent ones, for which chi-square with 49 degrees of
    # freedom stays below 85.4 in 99.9 %.
    assert ((counts - expected) ** 2 / expected).sum() < 85.4


def test_a_batch_is_stratified(kind):
    replay = filled(64, batch_size=64)
    # All priorities are equal: each of 64 parts is one row.
    np.testing.assert_array_equal(replay.sample().a_tm1, np.arange(64))


@pytest.mark.parametrize("n", [1, 16, 17, 128, 129, 1000, 20_000])
def test_compiled_draws_are_those_of_numpy(n):
    sums = leaves, tree, starts = empty_tree(n + 7)
    rng = np.random.default_rng(n)
    plain.fill_tree(*sums, 0, n, 1.0)
    again = leaves.copy(), tree.copy(), starts
    kernels.fill_tree(*again, 0, n, 1.0)
    np.testing.assert_array_equal(again[1], tree)
    indices = rng.integers(n, size=20)
    errors = rng.standard_normal(20).astype(np.float32)
    tops = np.ones(1), np.ones(1)
    for module, which, top in ((plain, sums, tops[0]), (kernels, again, tops[1])):
        nodes = np.empty(20, np.int64)
        module.update_tree(*which, top, n, n + 7, indices, errors, ALPHA, EPS, nodes)
    np.testing.assert_allclose(again[0], leaves, rtol=1e-6)
    np.testing.assert_allclose(again[1], tree, rtol=1e-6)
    assert leaves.reshape(-1)[n:].sum() == 0.0
    results = []
    for module in (plain, kernels):
        ring = np.zeros((n + 7, 8), np.float32)
        rows, found, weights = np.zeros(33, np.int64), np.zeros(33, np.int64), np.zeros(33, "f4")
        out = Transitions.zeros(33, 1)
        module.sample_tree(np.array([7], np.uint64), n, rows, *sums, np.zeros(33), found,
                           weights, ring, *out.columns())  # fmt: skip
        results.append((rows, found, weights))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("width", "dtype"), [(8, np.float64), (16, np.float32)])
def test_a_mark_lies_in_the_child_that_ends_behind_it(width, dtype):
    groups = np.random.default_rng(0).exponential(size=(3, width)).astype(dtype)
    groups[2, 5:] = 0.0  # as behind the last transition
    find = compiled(lambda groups, group, mark: child_at(groups, group, mark))
    for group, ends in enumerate(ends_of(groups)):
        np.testing.assert_allclose(ends, np.cumsum(groups[group], dtype=np.float64), rtol=1e-15)
        for mark in [-1e-9, 0.0, *ends, *(ends * (1 - 1e-9)), 1e9]:
            child, rest = find(groups, group, mark)
            assert (child, rest) == child_at(groups, group, mark)
            assert child == min(np.count_nonzero(mark >= ends), width - 1)


def test_weights_are_those_of_the_paper(kind):
    replay = filled(20, batch_size=100, beta=0.4)
    replay.update(np.arange(20), np.linspace(0.1, 5.0, 20).astype(np.float32))
    batch = replay.sample()
    chances = replay.priorities()[batch.a_tm1] / replay.total()
    weights = (20 * chances) ** -0.4
    np.testing.assert_allclose(batch.weights, weights / weights.max(), rtol=1e-5)
    replay.beta = 1.0
    batch = replay.sample()
    weights = 1 / replay.priorities()[batch.a_tm1]
    np.testing.assert_allclose(batch.weights, weights / weights.max(), rtol=1e-5)


def test_an_update_never_reaches_the_newcomer_in_a_slot(kind):
    replay = filled(4, batch_size=4)
    old = replay.sample().indices.copy()
    replay.add(np.zeros(2), 4, -4.0, np.zeros(2), False)  # overwrites number 0, in slot 0
    assert replay.update(old, np.full(4, 9.0, np.float32)) == 3
    high = (9.0 + EPS) ** ALPHA
    np.testing.assert_allclose(replay.priorities(), [1.0, high, high, high], rtol=1e-6)


def test_newcomers_have_the_largest_priority_there_ever_was(kind):
    replay = filled(3, capacity=8)
    replay.update(np.array([1]), np.array([50.0]))
    replay.update(np.array([1]), np.array([0.1]))
    replay.add(np.zeros(2), 3, -3.0, np.zeros(2), False)
    replay.add_batch(numbered(4, 2))
    np.testing.assert_allclose(replay.priorities()[3:], 50.0**ALPHA, rtol=1e-5)


def test_a_restored_replay_draws_on_bit_for_bit(kind):
    replay = filled(30, capacity=20)
    replay.update(np.arange(10, 30), np.linspace(0, 3, 20))
    replay.sample()
    other = PrioritisedReplay(20, 2, batch_size=64, alpha=ALPHA, eps=EPS)
    other.add_batch(numbered(100, 5))
    other.set_state(replay.state())
    for _ in range(3):
        ours, theirs = replay.sample(), other.sample()
        np.testing.assert_array_equal(ours.indices, theirs.indices)
        np.testing.assert_array_equal(ours.weights, theirs.weights)
        for a, b in zip(ours.arrays(), theirs.arrays(), strict=True):
            np.testing.assert_array_equal(a, b)
        errors = np.abs(ours.r_t) / 30
        replay.update(ours.indices, errors)
        other.update(theirs.indices, errors)
    assert other.total() == replay.total()


def test_errors_and_indices_that_make_no_sense_change_nothing(kind):
    replay = filled(5)
    before = replay.priorities()
    for errors, indices, message in (
        ([1.0, np.nan], [0, 1], "not finite: no priority was changed"),
        ([1.0, np.inf], [0, 1], "not finite"),
        ([1.0, 1.0], [0, 5], "names no transition"),
        ([1.0, 1.0], [0, -1], "names no transition"),
        ([1.0], [0, 1], "2 indices for 1 TD errors"),
    ):
        with pytest.raises(ValueError, match=message):
            replay.update(np.array(indices), np.array(errors))
    np.testing.assert_array_equal(replay.priorities(), before)
    with pytest.raises(ValueError, match="add transitions before sampling"):
        PrioritisedReplay(4, 2, batch_size=3).sample()


@pytest.mark.parametrize("options", [{"alpha": 1.5}, {"beta": -0.1}, {"eps": 0.0}, {"eps": 1e-60}])
def test_settings_that_make_no_sense_are_refused(options):
    with pytest.raises(ValueError, match="lies"):
        PrioritisedReplay(4, 2, batch_size=3, **options)
