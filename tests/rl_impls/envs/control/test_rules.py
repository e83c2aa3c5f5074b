"""Sine and cosine beside those of the C library."""

from math import cos, pi, sin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_impls.envs.control.rules import sin_cos
from tests.factories import examples


@examples
@given(angle=st.floats(-1e6, 1e6) | st.floats(-10, 10) | st.floats(-1, 1))
def test_both_are_those_of_the_c_library(angle):
    assert sin_cos(angle) == (
        pytest.approx(sin(angle), rel=0, abs=1e-15),
        pytest.approx(cos(angle), rel=0, abs=1e-15),
    )


@pytest.mark.parametrize("eighths", range(-17, 18))
def test_at_the_seams_too(eighths):
    for angle in (eighths * pi / 4 - 1e-15, eighths * pi / 4, eighths * pi / 4 + 1e-15):
        sine, cosine = sin_cos(angle)
        assert sine == pytest.approx(sin(angle), rel=0, abs=1e-15)
        assert cosine == pytest.approx(cos(angle), rel=0, abs=1e-15)
