"""A row of blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.report.sparkline import BLOCKS, MOST, sparkline
from tests.factories import examples


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([], ""),
        ([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], "▁▂▃▄▅▆▇█"),
        ([1.0, 0.0], "█▁"),
        ([0.0, 0.0], "▅▅"),
        ([0.0, 0.001], "▄▅"),
    ],
)
def test_values_are_drawn_from_the_lowest_to_the_highest(values: list[float], drawn: str):
    assert sparkline(values) == drawn


@examples
@given(st.lists(st.floats(-1, 100), max_size=60))
def test_every_point_has_a_block_up_to_the_most_that_are_drawn(values: list[float]):
    drawn = sparkline(values)
    assert len(drawn) == min(len(values), MOST)
    assert set(drawn) <= set(BLOCKS)
