"""Growth from one repeat to the next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.measure.memory.slope import growth
from tests.factories import examples


@examples
@given(start=st.integers(0, 10**9), step=st.integers(-(10**6), 10**6), n=st.integers(6, 40))
def test_a_steady_growth_is_found(start: int, step: int, n: int):
    assert growth([start + step * k for k in range(n)]) == pytest.approx(step)


@examples
@given(at=st.integers(0, 29), size=st.integers(1, 10**9))
def test_a_cache_that_grows_once_is_no_leak(at: int, size: int):
    series = [0.0] * at + [float(size)] * (30 - at)
    found = growth(series)
    assert found is not None
    assert found == 0


def test_what_is_kept_after_every_fourth_call_is_a_leak():
    assert growth([float(k // 4 * 4000) for k in range(30)]) == pytest.approx(1000, rel=0.4)


@pytest.mark.parametrize("points", [0, 1, 3])
def test_too_few_points_tell_nothing(points: int):
    assert growth([1.0] * points) is None
