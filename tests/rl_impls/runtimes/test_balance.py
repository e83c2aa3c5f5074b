"""Steps are shared by measured speed, and none is lost or made up."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.runtimes.balance import NEWS, blended, next_piece, shares

SPEEDS = st.lists(st.floats(0.0, 1e9), min_size=1, max_size=16)


@settings(deadline=None)
@given(st.integers(0, 10**12), SPEEDS)
def test_shares_sum_to_the_total_and_none_is_negative(total, speeds):
    parts = shares(total, speeds)
    assert sum(parts) == total
    assert min(parts) >= 0


@settings(deadline=None)
@given(st.integers(0, 10**6), st.lists(st.floats(1.0, 1e6), min_size=1, max_size=8))
def test_a_share_is_within_one_step_of_its_proportion(total, speeds):
    for part, speed in zip(shares(total, speeds), speeds, strict=True):
        assert part == pytest.approx(total * speed / sum(speeds), abs=1.0 + 1e-6)


def test_twice_as_fast_is_twice_the_work():
    assert shares(300, [10.0, 20.0]) == [100, 200]


def test_an_unknown_speed_counts_as_the_mean_of_the_known_ones():
    assert shares(450, [10.0, 0.0, 20.0]) == [100, 150, 200]
    assert shares(90, [0.0, 0.0, 0.0]) == [30, 30, 30]
    assert shares(60, [10.0, 10.0, 0.0]) == [20, 20, 20]


@settings(deadline=None)
@given(st.integers(1, 10**6), st.lists(st.floats(0.0, 1e6), min_size=1, max_size=4), st.data())
def test_pieces_taken_in_any_order_make_exactly_the_total(total, speeds, data):
    steps_per_sync = data.draw(st.integers(max(1, total // 50), total + 5))
    left, pieces = total, []
    while left:
        worker = data.draw(st.integers(0, len(speeds) - 1))
        piece = next_piece(left, speeds, worker, steps_per_sync)
        assert 1 <= piece <= steps_per_sync
        pieces.append(piece)
        left -= piece
    assert sum(pieces) == total


def test_pieces_shrink_towards_the_end_so_that_all_end_together():
    assert next_piece(100_000, [1.0, 1.0], 0, 1_000) == 1_000
    assert next_piece(1_000, [1.0, 1.0], 0, 1_000) == 250
    assert next_piece(1_000, [3.0, 1.0], 0, 1_000) == 375
    assert next_piece(10, [1.0, 1.0], 0, 1_000) == 10


def test_a_measured_speed_follows_the_latest_one_slowly():
    assert blended(0.0, 10.0) == pytest.approx(10.0)
    assert blended(10.0, 20.0) == pytest.approx(10.0 + 10.0 * NEWS)
