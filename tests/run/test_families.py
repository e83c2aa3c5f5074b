"""All sizes of a test: measured together until their exponent is decided."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from pytest_rlperf.judge.decide import LOOKS
from pytest_rlperf.measure.side import State
from pytest_rlperf.model.extra import ExtraMetric
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.run.partners import Alone

from .campaigns import Fake, Over, run, same

SIZES = (10, 100, 1000)


def times(factor: float) -> Callable[[random.Random], float]:
    return lambda rng: factor * same(rng)


def sized(ratios: dict[int, float], small: State = State.RAN) -> tuple[Over, ExtraMetric]:
    """Each size takes a call of its own length times the ratio; the exponent of the largest."""
    tests = {
        f"test[{size}]": Fake(times(ratio), size=size, family="test")
        for size, ratio in ratios.items()
    }
    tests["test[10]"] = replace(tests["test[10]"], scout=small)
    over = run(tests)
    (metric,) = over.results["test[1000]"].extras
    return over, metric


def test_the_exponent_is_told_with_the_largest_size():
    over, metric = sized(dict.fromkeys(SIZES, 1.0))
    assert metric.sizes == SIZES
    assert metric.verdict.outcome is Outcome.UNCHANGED
    assert over.results["test[10]"].extras == ()
    assert over.results["test[1000]"].outcome is Outcome.UNCHANGED


def test_small_sizes_are_measured_on_until_a_steeper_growth_is_confirmed():
    over, metric = sized({10: 1.0, 100: 10**0.5, 1000: 10.0})
    assert metric.verdict.outcome is Outcome.REGRESSED
    assert metric.amount is not None
    assert metric.amount.change == pytest.approx(0.5, abs=0.01)
    assert over.blocks.blocks_of("test[10]") > LOOKS[0]
    assert over.outcome("test[10]") is Outcome.UNCHANGED


def test_all_sizes_slower_alike_are_no_steeper():
    _, metric = sized(dict.fromkeys(SIZES, 1.5))
    assert metric.verdict.outcome is Outcome.UNCHANGED


def test_a_size_that_fails_leaves_nothing_to_compare():
    over, metric = sized(dict.fromkeys(SIZES, 1.0), State.FAILED)
    assert metric.verdict.outcome is Outcome.NO_BASELINE
    assert metric.verdict.reason == "size 10: it failed"
    assert over.blocks.blocks_of("test[1000]") == LOOKS[0]


def test_without_a_partner_the_exponent_is_shown():
    tests = {
        f"test[{size}]": Fake(call_ns=size * 10_000.0, size=size, family="test") for size in SIZES
    }
    over = run(tests, partner=Alone())
    (metric,) = over.results["test[1000]"].extras
    assert metric.verdict.outcome is Outcome.NO_BASELINE
    assert metric.value == pytest.approx(1.0, abs=0.01)


def test_one_size_that_was_selected_alone_has_no_exponent():
    over = run({"test[10]": Fake(size=10, family="test")})
    assert over.results["test[10]"].extras == ()
