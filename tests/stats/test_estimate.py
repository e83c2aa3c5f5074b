"""Student's t against printed tables, closed forms and SciPy; the interval of blocks against a
naive oracle, by its coverage, and by what must not matter.
"""

import math
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special  # type: ignore[import-untyped]

from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.stats.decide import LOOKS
from pytest_rlperf.stats.estimate import (
    TRIMMED_SHARE,
    Estimate,
    estimate,
    log_ratios,
    t_cdf,
    t_quantile,
)
from tests.factories import block, examples

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


# -- block values to an interval ----------------------------------------------------------------


RUNS = 2000

samples = st.lists(st.floats(-1, 1), min_size=LEAST_BLOCKS, max_size=40)


def naive(values: list[float]) -> Estimate:
    """Tukey and McLaughlin word by word: the ends are cut for the mean, moved in for the spread."""
    left, cut = sorted(values), int(len(values) * TRIMMED_SHARE)
    for _ in range(cut):
        left.remove(min(left))
        left.remove(max(left))
    n, h = len(values), len(left)
    clipped = [min(max(value, left[0]), left[-1]) for value in values]
    centre = sum(clipped) / n
    squares = sum((value - centre) ** 2 for value in clipped)
    return Estimate(sum(left) / h, math.sqrt(squares / (h * (h - 1))), h - 1)


@examples
@given(samples)
def test_it_is_the_trimmed_mean_with_the_winsorised_error(values: list[float]):
    found, expected = estimate(values), naive(values)
    assert found.mean == pytest.approx(expected.mean, abs=1e-12)
    assert found.error == pytest.approx(expected.error, abs=1e-9)
    assert found.freedom == expected.freedom


@examples
@given(samples, st.floats(-5, 5))
def test_a_shift_of_all_blocks_shifts_the_mean_and_nothing_else(values: list[float], by: float):
    here, there = estimate(values), estimate([value + by for value in values])
    assert there.mean == pytest.approx(here.mean + by, abs=1e-9)
    assert there.error == pytest.approx(here.error, abs=1e-7)


@examples
@given(samples)
def test_swapping_the_sides_turns_the_sign_and_nothing_else(values: list[float]):
    here, there = estimate(values), estimate([-value for value in values])
    assert there.mean == pytest.approx(-here.mean, abs=1e-12)
    assert there.error == pytest.approx(here.error, abs=1e-12)


@examples
@given(samples, st.randoms())
def test_the_order_of_blocks_does_not_matter(values: list[float], rng: random.Random):
    shuffled = values[:]
    rng.shuffle(shuffled)
    assert estimate(shuffled) == estimate(values)


def test_one_wild_block_of_many_moves_the_interval_little():
    quiet = [0.001 * k for k in range(-5, 6)]
    assert estimate([*quiet, 0.5]).bound(0.99) < 0.02
    assert estimate([*quiet, -0.5]).bound(0.01) > -0.02


@pytest.mark.parametrize("number", range(LEAST_BLOCKS))
def test_too_few_blocks_have_no_interval(number: int):
    with pytest.raises(ValueError, match=f"at least {LEAST_BLOCKS} blocks, not {number}"):
        estimate([0.0] * number)


def test_zero_is_excluded_only_where_the_two_sided_interval_lies_beside_it():
    found = Estimate(mean=1.0, error=0.5, freedom=10)  # table: t is 1.812 at 90 %, 2.228 at 95 %
    assert found.excludes_zero(0.90)
    assert not found.excludes_zero(0.95)


def normal(rng: random.Random) -> float:
    return rng.gauss(0, 0.01)


def heavy_tailed(rng: random.Random) -> float:
    """One block in 40 had bad luck with its layout, on either side."""
    return rng.choice((-0.5, 0.5)) if rng.random() < 0.025 else rng.gauss(0, 0.01)


@pytest.mark.parametrize("blocks", [LOOKS[0], LOOKS[-1]])
@pytest.mark.parametrize("draw", [normal, heavy_tailed])
def test_the_one_percent_limit_is_missed_in_one_percent(
    draw: Callable[[random.Random], float], blocks: int
):
    rng = random.Random(f"coverage {blocks}")
    found = [estimate([draw(rng) for _ in range(blocks)]) for _ in range(RUNS)]
    too_high = sum(e.bound(0.01) > 0 for e in found)
    too_low = sum(e.bound(0.99) < 0 for e in found)
    five_sigma = 5 * math.sqrt(RUNS * 0.01 * 0.99)
    assert max(too_high, too_low) < RUNS * 0.01 + five_sigma
    assert min(too_high, too_low) > 0  # an interval that never misses is wider than it claims


def test_an_evenly_slower_head_shows_in_the_typical_pairs_and_in_the_sums():
    slower = [110, 220, 330, 440]
    found = log_ratios(block(slower, [100, 200, 300, 400]))
    assert found.typical == pytest.approx(math.log(1.1))
    assert found.total == pytest.approx(math.log(1.1))


@pytest.mark.parametrize("every", [1, 2, 4])
@pytest.mark.parametrize("pairs", [8, 32, 64])
def test_a_slowdown_in_every_few_slices_is_seen_by_the_typical_pairs_too(every: int, pairs: int):
    head = ([100] * (every - 1) + [100 + 10 * every]) * (pairs // every)
    found = log_ratios(block(head, [100] * pairs))
    assert found.typical == found.total == pytest.approx(math.log(1.1))


def test_a_slowdown_in_every_eighth_slice_is_seen_by_the_sums_alone():
    found = log_ratios(block(([100] * 7 + [200]) * 5, [100] * 40))
    assert found.typical == 0
    assert found.total == pytest.approx(math.log(1.125))


@pytest.mark.parametrize("pairs", [4, 5, 9, 40])
def test_one_disturbed_slice_moves_the_sums_and_leaves_the_typical_pairs_alone(pairs: int):
    found = log_ratios(block([100] * (pairs - 1) + [10_000], [100] * pairs))
    assert found.typical == 0
    assert found.total > math.log(3)


@examples
@given(
    st.lists(st.tuples(st.integers(1, 10**9), st.integers(1, 10**9)), min_size=1, max_size=64),
    st.integers(2, 50),
)
def test_a_head_that_is_slower_by_a_factor_reads_that_much_higher(pairs, factor):
    head, base = zip(*pairs, strict=True)
    found, slower = (
        log_ratios(block(head, base)),
        log_ratios(block([factor * h for h in head], base)),
    )
    assert slower.typical - found.typical == pytest.approx(math.log(factor))
    assert slower.total - found.total == pytest.approx(math.log(factor))


@examples
@given(samples, st.floats(0.001, 0.1), st.floats(0.001, 0.1))
def test_more_blur_makes_the_interval_wider_and_leaves_the_mean(
    values: list[float], less: float, more: float
):
    found = [replace(estimate(values), blur=blur) for blur in (0.0, less, less + more)]
    for confidence in (0.99, 0.01):
        distances = [abs(e.bound(confidence) - e.mean) for e in found]
        assert distances == sorted(distances)
    assert len({e.mean for e in found}) == 1


def test_a_blur_that_was_known_beforehand_is_a_normal_error():
    exact = Estimate(mean=1.0, error=0.0, freedom=4, blur=0.02)
    assert exact.bound(0.975) == pytest.approx(1 + 1.96 * 0.02, abs=1e-4)
    assert exact.bound(0.025) == pytest.approx(1 - 1.96 * 0.02, abs=1e-4)
