"""Student's t against printed tables, closed forms and SciPy."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special  # type: ignore[import-untyped]

from pytest_rlperf.judge.student import t_cdf, t_quantile
from tests.factories import examples

# One-sided critical values as printed in tables of the t distribution (three decimals).
TABLE = {
    0.90: {1: 3.078, 2: 1.886, 5: 1.476, 10: 1.372, 30: 1.310, 120: 1.289},
    0.95: {1: 6.314, 2: 2.920, 5: 2.015, 10: 1.812, 30: 1.697, 120: 1.658},
    0.975: {1: 12.706, 2: 4.303, 5: 2.571, 10: 2.228, 30: 2.042, 120: 1.980},
    0.99: {1: 31.821, 2: 6.965, 5: 3.365, 10: 2.764, 30: 2.457, 120: 2.358},
    0.995: {1: 63.657, 2: 9.925, 5: 4.032, 10: 3.169, 30: 2.750, 120: 2.617},
}

probabilities = st.floats(0.0001, 0.9999)
freedoms = st.integers(1, 200)


@pytest.mark.parametrize(
    ("p", "df", "t"), [(p, df, t) for p, row in TABLE.items() for df, t in row.items()]
)
def test_the_quantile_is_the_printed_one(p: float, df: int, t: float):
    assert t_quantile(p, df) == pytest.approx(t, abs=0.00051)


@pytest.mark.parametrize("t", [-40.0, -2.0, -0.1, 0.0, 0.5, 3.0, 1000.0])
def test_the_distribution_has_the_closed_forms_of_one_and_two_degrees(t: float):
    assert t_cdf(t, 1) == pytest.approx(0.5 + math.atan(t) / math.pi, abs=1e-12)
    assert t_cdf(t, 2) == pytest.approx(0.5 + t / (2 * math.sqrt(2 + t * t)), abs=1e-12)


@examples
@given(t=st.floats(-60, 60), df=freedoms)
def test_the_distribution_is_scipys(t: float, df: int):
    assert t_cdf(t, df) == pytest.approx(special.stdtr(df, t), abs=1e-8)


@examples
@given(p=probabilities, df=freedoms)
def test_the_quantile_is_scipys(p: float, df: int):
    assert t_quantile(p, df) == pytest.approx(special.stdtrit(df, p), rel=1e-7, abs=1e-7)


@examples
@given(p=probabilities, df=freedoms)
def test_the_distribution_undoes_the_quantile(p: float, df: int):
    assert t_cdf(t_quantile(p, df), df) == pytest.approx(p, abs=1e-10)


@examples
@given(t=st.floats(-60, 60), df=freedoms)
def test_the_distribution_is_symmetric(t: float, df: int):
    assert t_cdf(t, df) + t_cdf(-t, df) == pytest.approx(1, abs=1e-12)


@examples
@given(p=probabilities, df=freedoms)
def test_the_quantile_is_symmetric(p: float, df: int):
    assert t_quantile(p, df) == pytest.approx(-t_quantile(1 - p, df), rel=1e-7, abs=1e-9)


@examples
@given(p=probabilities, q=probabilities, df=freedoms)
def test_the_quantile_never_falls(p: float, q: float, df: int):
    low, high = sorted((p, q))
    assert t_quantile(low, df) <= t_quantile(high, df) + 1e-9


@pytest.mark.parametrize(("p", "df"), [(0, 5), (1, 5), (-0.1, 5), (1.1, 5), (0.5, 0), (0.5, -1)])
def test_what_has_no_quantile_is_refused(p: float, df: float):
    with pytest.raises(ValueError, match="no quantile"):
        t_quantile(p, df)
