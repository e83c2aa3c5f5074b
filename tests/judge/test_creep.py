"""Small changes that add up are seen, in levels and in chains; noise and steps are none."""

import math
import random
from collections.abc import Sequence

import pytest

from pytest_rlperf.judge.creep import creep_of_levels, creep_of_links, weighted_sum
from pytest_rlperf.judge.estimate import Estimate

ALLOWED = 0.05


def links(changes: Sequence[float], error: float = 0.007, seed: int = 1) -> list[Estimate]:
    rng = random.Random(seed)
    return [Estimate(rng.gauss(change, error), error, 4) for change in changes]


def test_twenty_links_of_one_percent_are_a_creep():
    rise = creep_of_links(links([0.01] * 20), ALLOWED, series=20)
    assert rise is not None
    assert rise.start == 0
    assert rise.change.low < math.expm1(0.2) < rise.change.high


def test_a_creep_after_a_long_quiet_time_is_seen_in_a_shorter_window():
    rise = creep_of_links(links([0.0] * 140 + [0.01] * 20), ALLOWED, series=20)
    assert rise is not None
    assert rise.start >= 120


def test_levels_that_rise_are_a_creep():
    rng = random.Random(1)
    levels = [0.01 * number + rng.gauss(0, 0.02) for number in range(20)]
    rise = creep_of_levels(levels, ALLOWED, series=20)
    assert rise is not None
    assert rise.change.low < math.expm1(0.19) < rise.change.high


@pytest.mark.parametrize("a_commit", [0.0, -0.01])
def test_what_does_not_rise_is_none(a_commit: float):
    rng = random.Random(2)
    assert creep_of_links(links([a_commit] * 30), ALLOWED, series=1) is None
    levels = [a_commit * number + rng.gauss(0, 0.02) for number in range(30)]
    assert creep_of_levels(levels, ALLOWED, series=1) is None


def test_a_rise_within_what_one_change_may_be_is_none():
    sure = links([0.002] * 20, error=1e-4)
    assert creep_of_links(sure, ALLOWED, series=1) is None
    assert creep_of_links(sure, allowed=0.03, series=1) is not None
    levels = [0.002 * number for number in range(21)]
    assert creep_of_levels(levels, ALLOWED, series=1) is None
    assert creep_of_levels(levels, allowed=0.03, series=1) is not None


def test_few_points_are_no_creep():
    assert creep_of_links(links([0.04] * 7, error=1e-4), ALLOWED, series=1) is None
    assert creep_of_levels([0.04 * number for number in range(7)], ALLOWED, series=1) is None


def test_errors_of_a_sum_add_up_as_squares():
    total = weighted_sum([Estimate(0.1, 0.03, 4), Estimate(0.2, 0.04, 4)], [1.0, 1.0])
    assert total.mean == pytest.approx(0.3)
    assert total.error == pytest.approx(0.05)
    assert 4 <= total.freedom <= 8


def test_links_without_an_error_have_a_sum_without_one():
    total = weighted_sum([Estimate(0.1, 0.0, 4), Estimate(0.2, 0.0, 4)], [1.0, 0.5])
    assert total.mean == pytest.approx(0.2)
    assert (total.error, total.freedom) == (0.0, 8)
