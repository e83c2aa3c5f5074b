"""Copies of a table that exchange what they learned: the weighed mean, alike on all ranks."""

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.runtimes.mpi.messages import CODECS, unpacked
from rl_impls.runtimes.mpi.replica import RankReplica
from rl_impls.runtimes.shared_table import COMPILED_STEPS_PER_VISIT, merge_pairs
from rl_impls.tabular.training import Training

SHAPE = (7, 3)
N_PAIRS = 21  # two groups of the compiled search, and some


class Table:
    """A learner that learns what it is told."""

    def __init__(self):
        self.q = np.full(SHAPE, 0.5, np.float32)
        self.visits: Any = None

    def train(self, env, n_steps, *, visits=None):
        self.visits = self.visits if visits is None else visits
        return Training(n_steps, 0, 0.0)

    def learn(self, values, visits):
        """Every entry with visits becomes its value."""
        learned = visits > 0
        self.q.reshape(-1)[learned] = values[learned]
        self.visits.reshape(-1)[learned] += visits[learned]


def ranks(n, compression="exact"):
    tables: list[Any] = [Table() for _ in range(n)]
    codec, no_env = CODECS[compression], cast(Any, None)
    return tables, [RankReplica(table, no_env, codec, i) for i, table in enumerate(tables)]


def exchange(replicas, meanwhile=()):
    messages = [replica.cut() for replica in replicas]
    for table, what in meanwhile:
        table.learn(*what)
    for replica in replicas:
        replica.take(messages)


VALUES = st.lists(st.floats(-2.0, 2.0, width=32), min_size=N_PAIRS, max_size=N_PAIRS)
VISITS = st.lists(st.integers(0, 3) | st.just(0), min_size=N_PAIRS, max_size=N_PAIRS)
LEARNED = st.tuples(
    VALUES.map(lambda each: np.array(each, np.float32)),
    VISITS.map(lambda each: np.array(each, np.uint32)),
)


def plain_mean(learned, base):
    """As the rule says it, with numbers of 64 bits, in the order of ranks."""
    sums, weights = np.zeros(N_PAIRS), np.zeros(N_PAIRS)
    for values, visits in learned:
        n = np.where((visits > 0) & (values != base), 1.0 + COMPILED_STEPS_PER_VISIT * visits, 0.0)
        sums += n * (values - base)
        weights += n
    mean = base + sums / np.maximum(weights, 1.0)
    return np.where(weights > 0, mean, base).astype(np.float32)


@settings(deadline=None, max_examples=15)
@given(st.lists(LEARNED, min_size=2, max_size=4))
def test_exact_ranks_reach_the_mean_bit_for_bit(learned):
    tables, replicas = ranks(len(learned))
    for table, what in zip(tables, learned, strict=True):
        table.learn(*what)
    exchange(replicas)
    base = np.full(N_PAIRS, 0.5, np.float32)
    for replica in replicas:
        np.testing.assert_array_equal(replica.agreed().reshape(-1), plain_mean(learned, base))


@settings(deadline=None, max_examples=15)
@given(st.lists(LEARNED, min_size=2, max_size=4))
def test_the_mean_is_that_of_workers_who_merge_one_after_another(learned):
    tables, replicas = ranks(len(learned))
    q, n = np.full(N_PAIRS, 0.5, np.float32), np.zeros(N_PAIRS, np.uint32)
    for table, (values, visits) in zip(tables, learned, strict=True):
        table.learn(values, visits)
        own = np.flatnonzero(table.q.reshape(-1) != np.float32(0.5))
        weights = (1 + COMPILED_STEPS_PER_VISIT * visits[own]).astype(np.uint32)
        merge_pairs(q, n, np.zeros_like(n), own, weights, values[own].astype(np.float64))
    exchange(replicas)
    np.testing.assert_allclose(replicas[0].agreed().reshape(-1), q, atol=1e-6)


@settings(deadline=None, max_examples=15)
@given(st.sampled_from(sorted(CODECS)), st.lists(st.lists(LEARNED, min_size=3, max_size=3)))
def test_all_ranks_agree_bit_for_bit_whatever_they_learn_meanwhile(compression, rounds):
    tables, replicas = ranks(3, compression)
    for learned in rounds:
        exchange(replicas, zip(tables, learned, strict=True))
    for _ in range(2):
        exchange(replicas)
    agreed = {replica.agreed().tobytes() for replica in replicas}
    assert len(agreed) == 1
    for table, replica in zip(tables, replicas, strict=True):
        replica.settle()
        assert table.q.tobytes() in agreed


@settings(deadline=None, max_examples=15)
@given(st.lists(st.lists(LEARNED, min_size=2, max_size=2), max_size=6))
def test_nothing_is_agreed_on_beyond_what_was_learned(rounds):
    tables, replicas = ranks(2)
    seen = [np.full(N_PAIRS, 0.5, np.float32)]
    for learned in rounds:
        exchange(replicas, zip(tables, learned, strict=True))
        seen += [np.where(visits > 0, values, 0.5) for values, visits in learned]
        assert (replicas[0].agreed().reshape(-1) <= np.max(seen, axis=0) + 1e-6).all()
        assert (replicas[0].agreed().reshape(-1) >= np.min(seen, axis=0) - 1e-6).all()


def test_what_two_ranks_find_out_one_after_the_other_counts_once():
    tables, replicas = ranks(2)
    once = np.ones(N_PAIRS, np.float32), np.ones(N_PAIRS, np.uint32)
    tables[0].learn(*once)
    exchange(replicas, [(tables[1], once)])
    exchange(replicas)
    np.testing.assert_array_equal(replicas[0].agreed(), 1.0)


@pytest.mark.parametrize("compression", ["float16", "int8"])
def test_what_a_message_could_not_convey_is_part_of_the_next(compression):
    (table, _), replicas = ranks(2, compression)
    rng = np.random.default_rng(0)
    visits = np.ones(N_PAIRS, np.uint32)
    sent = np.full(N_PAIRS, 0.5)
    for _ in range(200):
        table.learn(table.q.reshape(-1) + rng.normal(0, 0.1, N_PAIRS).astype(np.float32), visits)
        message = replicas[0].cut()
        last = unpacked(message, CODECS[compression]).values
        sent += last
        for replica in replicas:
            replica.take([message, replicas[1].cut()])
    residual = table.q.reshape(-1) - sent
    # Of the last message only; of two hundred that are forgotten it would be ten times as much.
    assert np.abs(residual).max() <= np.abs(last).max() / 127 + 1e-5
    np.testing.assert_allclose(replicas[1].agreed().reshape(-1), sent, atol=1e-5)


def test_what_nobody_else_learned_is_left_as_it_is():
    (table, _), replicas = ranks(2, "int8")
    values = np.linspace(-1.0, 1.0, N_PAIRS).astype(np.float32)
    table.learn(values, np.ones(N_PAIRS, np.uint32))
    exchange(replicas)
    np.testing.assert_array_equal(table.q.reshape(-1), values)
    assert len(unpacked(replicas[0].cut(), CODECS["int8"])) == 0
