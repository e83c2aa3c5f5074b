"""Bounds of a share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.prove.rates import at_most, clopper_pearson, rate_of
from tests.factories import examples

shares = st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


# Reference values: scipy.stats.binomtest(hits, n).proportion_ci(method="exact").
@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [
        (0, 300, 0.0, 0.012221),
        (2, 100, 0.002431, 0.070384),
        (5, 10, 0.187086, 0.812914),
        (198, 200, 0.964345, 0.998787),
        (60, 60, 0.940371, 1.0),
    ],
)
def test_bounds_agree_with_reference_values(hits: int, n: int, low: float, high: float):
    assert clopper_pearson(hits, n) == pytest.approx((low, high), abs=1e-6)


@examples
@given(shares)
def test_at_a_bound_what_was_seen_has_the_probability_of_one_tail(share: tuple[int, int]):
    hits, n = share
    low, high = clopper_pearson(hits, n)
    if hits:
        assert 1 - at_most(hits - 1, n, low) == pytest.approx(0.025, abs=1e-6)
    if hits < n:
        assert at_most(hits, n, high) == pytest.approx(0.025, abs=1e-6)
    assert low <= hits / n <= high


@examples
@given(shares)
def test_what_did_not_happen_has_the_mirrored_bounds(share: tuple[int, int]):
    hits, n = share
    low, high = clopper_pearson(hits, n)
    assert clopper_pearson(n - hits, n) == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_a_rate_carries_its_bounds():
    rate = rate_of(2, 100)
    assert (rate.hits, rate.n, rate.value) == (2, 100, 0.02)
    assert rate.bounds == clopper_pearson(2, 100)


def test_a_share_of_nothing_is_refused():
    with pytest.raises(ValueError, match="0 of 0"):
        clopper_pearson(0, 0)
