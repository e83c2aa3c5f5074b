"""Least squares without negative terms, against SciPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls  # type: ignore[import-untyped]

from pytest_rlperf.judge.nonnegative import confused, nonnegative_least_squares
from tests.factories import examples

VALUES = st.floats(0.05, 20) | st.just(0.0)
ROWS = st.integers(1, 5).flatmap(
    lambda n: st.lists(st.lists(VALUES, min_size=n, max_size=n), min_size=n, max_size=12)
)


@examples
@given(ROWS)
def test_nothing_that_is_not_negative_fits_better(rows: list[list[float]]):
    found = nonnegative_least_squares(rows)
    assert min(found) >= 0
    _, best = nnls(np.asarray(rows), np.ones(len(rows)))
    left = float(np.linalg.norm(np.asarray(rows) @ found - 1))
    assert left == pytest.approx(best, abs=1e-6)


def test_a_term_that_would_be_negative_is_zero():
    assert nonnegative_least_squares([[1.0, 0.0], [1.0, 1.0], [0.5, 1.0]]) == pytest.approx(
        [0.888889, 0.333333], rel=1e-5
    )
    assert nonnegative_least_squares([[1.0, 1.0], [2.0, 8.0]])[1] == 0


@pytest.mark.parametrize(
    ("rows", "unclear"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], None),
        ([[1.0, 2.0], [2.0, 4.0]], 1),
        ([[1.0, 2.0], [2.0, 4.01]], 1),
        ([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0]], 2),
        ([[1.0, 2.0]], 1),
        ([[0.0]], 0),
    ],
)
def test_a_term_is_told_only_if_it_goes_its_own_way(rows: list[list[float]], unclear: int | None):
    assert confused(rows) == unclear
