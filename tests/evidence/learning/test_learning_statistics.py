"""Intervals from few seeds: against plain oracles, and by simulated coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats  # type: ignore[import-untyped]

from tests.evidence.learning.statistics import (
    interquartile_mean,
    joined_mean,
    probability_of_improvement,
)
from tests.factories import examples

# Few values, so that there are ties.
VALUES = st.integers(-5, 5).map(float) | st.floats(-1e6, 1e6)
SCORES = arrays.arrays(np.float64, st.integers(1, 12), elements=VALUES)


@examples
@given(SCORES)
def test_the_interquartile_mean_is_the_mean_trimmed_by_a_quarter(scores):
    assert interquartile_mean(scores) == pytest.approx(stats.trim_mean(scores, 0.25), abs=1e-6)


@examples
@given(SCORES, SCORES)
def test_the_probability_of_improvement_counts_pairs_and_ties_by_half(ours, theirs):
    wins = [1.0 if a > b else 0.5 if a == b else 0.0 for a in ours for b in theirs]
    found = probability_of_improvement([(ours, theirs)])
    assert found.value == pytest.approx(np.mean(wins))
    assert 0.0 <= found.low <= found.high <= 1.0
    assert probability_of_improvement([(theirs, ours)]).value == pytest.approx(1.0 - found.value)


def test_a_stratum_is_never_drawn_from_for_another():
    """Two tasks without spread: however they are drawn, each is there with all its runs."""
    found = joined_mean([np.zeros(10), np.ones(10)])
    assert (found.value, found.low, found.high) == (0.5, 0.5, 0.5)


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(100):
        found = joined_mean([rng.standard_normal(10) for _ in range(3)])
        held += found.low <= 0.0 <= found.high
    assert 85 <= held <= 100


def test_the_same_scores_give_the_same_interval():
    scores = np.arange(10.0)
    assert joined_mean([scores]) == joined_mean([scores])
