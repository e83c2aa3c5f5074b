"""Drift within blocks: found where slices grow, and nowhere else."""

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.judge.drift import DOUBT, LEAST_SLICES, drift_of, slope
from pytest_rlperf.model.block import LEAST_BLOCKS, Block
from tests.factories import block, examples

MS = 10**6
RUNS = 400

times = st.lists(st.integers(10**4, 10**8), min_size=LEAST_SLICES, max_size=40)


def slices(rng: random.Random, number: int, growth: float, noise: float = 0.02) -> list[int]:
    """`growth`: of the logarithm, from the first slice to the last."""
    steps = [growth * k / (number - 1) for k in range(number)]
    return [round(MS * math.exp(step + rng.gauss(0, noise))) for step in steps]


def blocks(
    seed: int, head: float, base: float | None, number: int = 8, lengths: Sequence[int] = (32,)
) -> list[Block]:
    rng = random.Random(seed)
    found = []
    for k in range(number):
        n = lengths[k % len(lengths)]
        found.append(block(slices(rng, n, head), None if base is None else slices(rng, n, base)))
    return found


@examples
@given(st.floats(-0.1, 0.1), st.integers(LEAST_SLICES, 60))
def test_the_slope_of_a_straight_line_is_its_own(growth: float, number: int):
    assert slope([math.exp(growth * k) for k in range(number)]) == pytest.approx(growth, abs=1e-9)


@examples
@given(times, st.floats(0.01, 100))
def test_a_faster_machine_has_the_same_slope(found: list[int], times_faster: float):
    assert slope([ns / times_faster for ns in found]) == pytest.approx(slope(found), abs=1e-9)


@examples
@given(times)
def test_slices_in_reverse_order_have_the_opposite_slope(found: list[int]):
    assert slope(found[::-1]) == pytest.approx(-slope(found), abs=1e-9)


@examples
@given(st.integers(0, 31), st.floats(0.01, 100))
def test_one_disturbed_slice_makes_no_slope(where: int, how_much: float):
    found = [float(MS)] * 32
    found[where] *= how_much
    assert slope(found) == pytest.approx(0.0, abs=1e-12)


def test_slices_that_grow_are_reported_with_what_they_grow_by():
    drift = drift_of(blocks(1, head=math.log(1.12), base=None))
    assert drift is not None
    assert drift.slices == 32
    assert drift.head.matters
    assert drift.head.change.change == pytest.approx(0.12, abs=0.01)
    assert drift.head.change.low < 0.12 < drift.head.change.high
    assert drift.base is None


def test_of_blocks_that_differ_in_length_the_same_slices_are_looked_at():
    """What grows in steps of the logarithm, as a list does, grows less and less."""
    lengths = (16, 64, 16, 256, 16, 32)
    found = drift_of(
        [block([round(MS * math.log(2 + k)) for k in range(n)], None) for n in lengths]
    )
    assert found is not None
    assert found.slices == 16
    assert found.head.matters
    assert found.head.change.width == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(("base", "too"), [(0.12, True), (0.0, False)])
def test_the_base_is_asked_the_same(base: float, too: bool):
    drift = drift_of(blocks(3, head=0.12, base=base))
    assert drift is not None
    assert drift.head.matters
    assert drift.base is not None
    assert drift.base.matters == too


def test_slices_that_get_faster_are_no_drift():
    drift = drift_of(blocks(4, head=-0.2, base=None))
    assert drift is not None
    assert not drift.head.matters


def test_a_growth_that_changes_no_verdict_does_not_matter():
    drift = drift_of(blocks(5, head=0.01, base=None))
    assert drift is not None
    assert not drift.head.matters


def test_steady_slices_hardly_ever_drift():
    found = [drift_of(blocks(seed, head=0.0, base=None, number=5)) for seed in range(RUNS)]
    assert sum(drift is not None and drift.head.matters for drift in found) <= 2 * DOUBT * RUNS


@pytest.mark.parametrize(
    ("number", "length"), [(LEAST_BLOCKS - 1, 32), (LEAST_BLOCKS, LEAST_SLICES - 1)]
)
def test_too_few_blocks_or_slices_tell_nothing(number: int, length: int):
    assert drift_of(blocks(6, head=0.5, base=None, number=number, lengths=(length,))) is None
