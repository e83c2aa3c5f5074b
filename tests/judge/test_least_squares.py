"""Lines and means, against numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.judge.least_squares import line_through, squares
from tests.factories import examples

VALUES = st.lists(st.floats(-10, 10), min_size=3, max_size=30)


@examples
@given(VALUES)
def test_slope_and_error_are_those_of_numpy(values: list[float]):
    line = line_through(values)
    x = np.arange(len(values))
    slope, intercept = np.polyfit(x, values, 1)
    left = float(((np.asarray(values) - slope * x - intercept) ** 2).sum())
    assert line.slope == pytest.approx(slope, abs=1e-9)
    assert line.squares == pytest.approx(left, abs=1e-6)
    error = (left / (len(values) - 2) / ((x - x.mean()) ** 2).sum()) ** 0.5
    assert line.error == pytest.approx(error, abs=1e-4)
    assert line.freedom == len(values) - 2


@examples
@given(VALUES)
def test_a_line_never_leaves_more_than_a_mean(values: list[float]):
    assert line_through(values).squares <= squares(values) + 1e-9


def test_two_points_have_no_error():
    with pytest.raises(ValueError, match="needs at least 3 points, not 2"):
        line_through([1.0, 2.0])
