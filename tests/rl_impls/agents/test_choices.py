"""Actions, noise and order by chance: their frequencies, and what they leave alone."""

import numpy as np
import pytest

from rl_impls.agents.choices import (
    epsilon_greedy,
    sample_categorical,
    shuffle,
    standard_normal,
)
from rl_impls.splitmix import streams

N = 20_000


def test_epsilon_greedy_takes_the_best_but_for_its_share_of_chance():
    q = np.tile(np.array([0.0, 2.0, 1.0, 2.0], np.float32), (N, 1))
    actions = np.zeros(N, np.int64)
    epsilon_greedy(q, streams(0, 1), 0, 0.2, actions)
    counts = np.bincount(actions, minlength=4) / N
    np.testing.assert_allclose(counts, [0.05, 0.85, 0.05, 0.05], atol=0.01)


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_epsilon_greedy_leaves_the_stream_at_the_same_place(epsilon):
    q, actions, chance = np.zeros((7, 3), np.float32), np.zeros(7, np.int64), streams(0, 2)
    before = chance.copy()
    epsilon_greedy(q, chance, 1, epsilon, actions)
    moved = chance.copy()
    assert moved[0] == before[0]
    with np.errstate(over="ignore"):
        assert moved[1] == before[1] + np.uint64(14) * np.uint64(0x9E3779B97F4A7C15)
    assert ((actions >= 0) & (actions < 3)).all()


def test_categorical_actions_follow_the_softmax():
    logits = np.log(np.array([0.1, 0.6, 0.3])) + 50.0
    actions, log_probs = np.zeros(N, np.int64), np.zeros(N)
    sample_categorical(np.tile(logits, (N, 1)), streams(1, 1), 0, actions, log_probs)
    np.testing.assert_allclose(np.bincount(actions) / N, [0.1, 0.6, 0.3], atol=0.015)
    np.testing.assert_allclose(np.exp(log_probs), np.array([0.1, 0.6, 0.3])[actions])


def test_normal_numbers_have_the_moments_of_the_distribution():
    out = np.zeros((N, 3))
    standard_normal(streams(2, 1), 0, out)
    assert abs(out.mean()) < 0.02
    assert out.std() == pytest.approx(1.0, abs=0.02)
    assert (out**4).mean() == pytest.approx(3.0, abs=0.15)
    np.testing.assert_allclose(np.corrcoef(out.T), np.eye(3), atol=0.03)


def test_an_odd_number_of_normal_numbers_is_filled_to_the_last():
    out = np.full(5, np.nan, np.float32)
    standard_normal(streams(2, 1), 0, out)
    assert np.isfinite(out).all()


def test_a_shuffle_keeps_every_row_once_and_favours_none():
    chance = streams(3, 1)
    firsts = []
    for _ in range(3000):
        order = np.arange(5)
        shuffle(order, chance, 0)
        assert sorted(order) == [0, 1, 2, 3, 4]
        firsts.append(order[0])
    np.testing.assert_allclose(np.bincount(firsts) / 3000, 0.2, atol=0.03)
