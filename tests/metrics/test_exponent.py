"""How time grows with size: slopes, their names, and what is said of their change."""

import math
import random
import statistics
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.gate.partners import Alone
from pytest_rlperf.metrics.exponent import (
    ALLOWED,
    exponent_metric,
    slope_blur,
    slope_weights,
    slopes,
)
from pytest_rlperf.model.metric import EXPONENT, GrowthCurve, Interval, Metric, Outcome, Severity
from pytest_rlperf.model.quantity import growth_law
from pytest_rlperf.stats.decide import LOOKS, Decision, DifferenceGate, decide
from pytest_rlperf.stats.verdicts import Ended
from pytest_rlperf.workers.side import State
from tests.factories import examples, noisy_ratios
from tests.gate.campaigns import Fake, Over, run, same

SIZES = (100.0, 1_000.0, 10_000.0)
SLOWER = Interval(0.5, 0.4, 0.6)

scales = st.lists(st.floats(0.01, 1e9), min_size=2, max_size=6, unique=True).filter(
    lambda sizes: max(sizes) > 1.5 * min(sizes)
)


@examples
@given(scales, st.floats(-1, 3), st.floats(-5, 5))
def test_a_power_law_has_its_exponent(sizes: list[float], exponent: float, factor: float):
    values = {size: {1: factor + exponent * math.log(size)} for size in sizes}
    assert slopes(values)[1] == pytest.approx(exponent, abs=1e-6)


@examples
@given(scales, st.integers())
def test_the_slope_is_that_of_least_squares(sizes: list[float], seed: int):
    rng = random.Random(seed)
    values = [rng.gauss(0, 1) for _ in sizes]
    expected = statistics.linear_regression([math.log(size) for size in sizes], values).slope
    found = slopes({size: {1: value} for size, value in zip(sizes, values, strict=True)})
    assert found[1] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@examples
@given(scales, st.integers())
def test_the_slope_of_ratios_is_the_difference_of_the_exponents(sizes: list[float], seed: int):
    rng = random.Random(seed)
    head, base = ({size: {1: rng.gauss(0, 1)} for size in sizes} for _ in range(2))
    ratios = {size: {1: head[size][1] - base[size][1]} for size in sizes}
    assert slopes(ratios)[1] == pytest.approx(slopes(head)[1] - slopes(base)[1], abs=1e-6)


def test_a_block_in_which_a_size_is_missing_has_no_slope():
    values = {10.0: {1: 0.0, 2: 0.0, 3: 0.0}, 100.0: {2: math.log(10), 3: 0.0, 4: 1.0}}
    assert slopes(values) == {2: pytest.approx(1.0), 3: pytest.approx(0.0)}


def test_the_blur_of_a_slope_is_that_of_independent_sizes():
    rng = random.Random(1)
    weights = slope_weights(SIZES)
    blurs = [0.01, 0.02, 0.03]
    drawn = [
        sum(w * rng.gauss(0, blur) for w, blur in zip(weights, blurs, strict=True))
        for _ in range(4000)
    ]
    assert slope_blur(SIZES, blurs) == pytest.approx(statistics.stdev(drawn), rel=0.1)


@pytest.mark.parametrize(
    ("exponent", "words"),
    [
        (0.02, "O(1)"),
        (-0.05, "O(1)"),
        (0.5, "O(n^0.5)"),
        (0.97, "O(n)"),
        (1.15, "O(n log n)"),
        (1.5, "O(n^1.5)"),
        (2.04, "O(n²)"),
        (3.0, "O(n^3)"),
    ],
)
def test_an_exponent_is_called_by_the_nearest_law(exponent: float, words: str):
    assert growth_law(exponent, SIZES) == words


def test_where_log_n_hardly_grows_it_is_not_named():
    assert growth_law(1.15, (1.0, 2.0, 3.0)) == "O(n^1.1)"


def metric(change: float, largest: Interval | None = SLOWER, blocks: int = 40) -> Metric:
    apart = noisy_ratios(random.Random(1), blocks, change, 0.01)
    found = decide(apart, DifferenceGate(ALLOWED), exhausted=True)
    head = [each.typical for each in apart]
    return exponent_metric(GrowthCurve(SIZES), head, [0.0] * blocks, found, largest=largest)


def test_a_steeper_growth_is_a_regression_that_names_both_laws():
    found = metric(0.98)
    assert found.verdict.outcome is Outcome.REGRESSED
    assert found.verdict.severity is Severity.HIGH
    assert found.verdict.reason.endswith("beyond doubt: O(1) became O(n)")
    assert found.value == pytest.approx(0.98, abs=0.01)
    assert found.base_value == pytest.approx(0.0, abs=0.01)
    assert found.amount is not None
    assert found.amount.low < 0.98 < found.amount.high
    assert (found.unit, found.threshold_abs, found.curve) == (None, ALLOWED, GrowthCurve(SIZES))


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        (0.0, Outcome.UNCHANGED),
        (0.05, Outcome.UNCHANGED),
        (-0.5, Outcome.IMPROVED),
        (0.15, Outcome.REGRESSED),
    ],
)
def test_the_gate_is_on_the_difference(change: float, outcome: Outcome):
    assert metric(change).verdict.outcome is outcome


@pytest.mark.parametrize("largest", [Interval(0.0, -0.01, 0.01), Interval(-0.2, -0.3, -0.1)])
def test_small_sizes_that_became_faster_are_no_regression(largest: Interval):
    found = metric(0.3, largest)
    assert found.verdict.outcome is Outcome.UNCHANGED
    assert "small sizes became faster" in found.verdict.reason


def test_too_few_blocks_are_inconclusive_and_say_what_to_do():
    found = metric(0.5, blocks=2)
    assert found.verdict.outcome is Outcome.INCONCLUSIVE
    assert "raise --rlperf-budget" in found.verdict.reason


def test_what_cannot_be_compared_says_why():
    ended = Ended(Outcome.NO_BASELINE, "size 100: it failed")
    found = exponent_metric(GrowthCurve(SIZES), [0.1, 0.2], [], ended, largest=None)
    assert (found.verdict.outcome, found.verdict.reason) == (ended.outcome, ended.reason)
    assert found.value == pytest.approx(0.15)
    assert found.base_value is None


def test_nothing_measured_is_told_as_such():
    found = exponent_metric(
        GrowthCurve(SIZES), [], [], Decision(Outcome.INCONCLUSIVE, 0), largest=None
    )
    assert found.verdict.outcome is Outcome.INCONCLUSIVE
    assert found.value is None


def test_where_the_base_is_too_fast_for_its_slices_the_scouts_tell_its_exponent():
    apart = noisy_ratios(random.Random(1), 20, 0.3, 0.01)
    found = decide(apart, DifferenceGate(ALLOWED))
    metric = exponent_metric(
        GrowthCurve(SIZES), [1.0] * 20, [0.7] * 20, found, largest=SLOWER, scouted_base=0.02
    )
    assert metric.base_value == 0.02
    assert "O(1) became O(n) (the base's calls are too short" in metric.verdict.reason


# -- all sizes of a test, measured together until their exponent is decided ---------------------


FAMILY_SIZES = (10, 100, 1000)


def times(factor: float) -> Callable[[random.Random], float]:
    return lambda rng: factor * same(rng)


def sized(ratios: dict[int, float], small: State = State.RAN) -> tuple[Over, Metric]:
    """Each size takes a call of its own length times the ratio; the exponent of the largest."""
    tests = {
        f"test[{size}]": Fake(times(ratio), size=size, family="test")
        for size, ratio in ratios.items()
    }
    tests["test[10]"] = replace(tests["test[10]"], scout=small)
    over = run(tests)
    *_, metric = over.results["test[1000]"].metrics
    return over, metric


def test_the_exponent_is_told_with_the_largest_size():
    over, metric = sized(dict.fromkeys(FAMILY_SIZES, 1.0))
    assert metric.curve is not None
    assert metric.curve.sizes == FAMILY_SIZES
    assert metric.verdict.outcome is Outcome.UNCHANGED
    assert over.results["test[10]"].metric(EXPONENT) is None
    assert over.results["test[1000]"].outcome is Outcome.UNCHANGED


def test_small_sizes_are_measured_on_until_a_steeper_growth_is_confirmed():
    over, metric = sized({10: 1.0, 100: 10**0.5, 1000: 10.0})
    assert metric.verdict.outcome is Outcome.REGRESSED
    assert metric.amount is not None
    assert metric.amount.change == pytest.approx(0.5, abs=0.01)
    assert over.blocks.blocks_of("test[10]") > LOOKS[0]
    assert over.outcome("test[10]") is Outcome.UNCHANGED


def test_all_sizes_slower_alike_are_no_steeper():
    _, metric = sized(dict.fromkeys(FAMILY_SIZES, 1.5))
    assert metric.verdict.outcome is Outcome.UNCHANGED


def test_a_size_that_fails_leaves_nothing_to_compare():
    over, metric = sized(dict.fromkeys(FAMILY_SIZES, 1.0), State.FAILED)
    assert metric.verdict.outcome is Outcome.NO_BASELINE
    assert metric.verdict.reason == "size 10: it failed"
    assert over.blocks.blocks_of("test[1000]") == LOOKS[0]


def test_without_a_partner_the_exponent_is_shown():
    tests = {
        f"test[{size}]": Fake(call_ns=size * 10_000.0, size=size, family="test")
        for size in FAMILY_SIZES
    }
    over = run(tests, partner=Alone())
    *_, metric = over.results["test[1000]"].metrics
    assert metric.verdict.outcome is Outcome.NO_BASELINE
    assert metric.value == pytest.approx(1.0, abs=0.01)


def test_one_size_that_was_selected_alone_has_no_exponent():
    over = run({"test[10]": Fake(size=10, family="test")})
    assert over.results["test[10]"].metric(EXPONENT) is None
