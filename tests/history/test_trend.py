"""Trends of whole histories: what is found, between which commits, and what is left unsaid."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rlperf.history.records import PastTest, Signal, Trend
from pytest_rlperf.history.trend import (
    OWN,
    SLOWING,
    STOLEN,
    creep_of_levels,
    creep_of_links,
    flakiest,
    trends,
    weighted_sum,
)
from pytest_rlperf.model.metric import WITHIN
from pytest_rlperf.stats.estimate import Estimate
from tests.factories import a_past, a_past_metric
from tests.history.histories import commit_name, dated, in_duets, in_reference_units, number_of


def only(past: list[PastTest]) -> Trend:
    (trend,) = trends(past)
    return trend


def test_a_change_in_reference_units_lies_between_two_commits():
    trend = only(in_reference_units(random.Random(1), [0.0] * 15 + [0.2] * 5))
    (change,) = trend.changes or ()
    assert number_of(change.before) < 15 <= number_of(change.after)
    assert number_of(change.after) - number_of(change.before) <= 2
    assert change.change.low < 0.221 < change.change.high
    assert trend.creep is None


def test_a_change_that_a_duet_called_lies_at_its_commit():
    trend = only(in_duets(random.Random(1), [0.0] * 15 + [0.2] * 5))
    (change,) = trend.changes or ()
    assert (change.before, change.after) == (commit_name(14), commit_name(15))
    assert trend.points[change.index].commit == commit_name(15)


def test_twenty_commits_of_one_percent_are_a_creep_although_each_passes():
    past = in_duets(random.Random(1), [0.01 * number for number in range(21)])
    assert {test.metrics[0].outcome for test in past} <= set(WITHIN)
    trend = only(past)
    assert trend.changes == ()
    assert trend.creep is not None
    assert (trend.creep.since, trend.creep.until) == (commit_name(0), commit_name(20))
    assert trend.creep.commits == 20
    assert trend.creep.change.low < 0.221 < trend.creep.change.high


def test_a_creep_after_a_change_is_that_alone():
    levels = [0.0] * 10 + [0.3 + 0.01 * number for number in range(20)]
    trend = only(in_reference_units(random.Random(2), levels))
    assert trend.creep is not None
    assert number_of(trend.creep.since) >= 9
    assert trend.creep.change.change < 0.3


def test_a_change_that_was_called_is_no_part_of_a_creep():
    trend = only(in_duets(random.Random(1), [0.0] * 10 + [0.5] * 11))
    assert trend.changes
    assert trend.creep is None


def test_nothing_is_concluded_from_plain_times():
    past = in_reference_units(random.Random(1), [0.0] * 10 + [1.0] * 10)
    trend = only([replace(test, reference=None) for test in past])
    assert (trend.signal, trend.changes, trend.creep) == (Signal.CLOCK, (), None)
    assert trend.recent is not None
    assert trend.recent.interval is None


@pytest.mark.parametrize("number", [1, 2, 3])
def test_three_points_or_fewer_are_not_compared(number: int):
    assert only(in_reference_units(random.Random(1), [0.0] * number)).recent is None


def test_the_last_three_are_compared_with_those_before():
    trend = only(in_reference_units(random.Random(1), [0.0] * 7 + [0.1] * 3))
    recent = trend.recent
    assert recent is not None
    assert (recent.points, recent.earlier) == (3, 7)
    assert recent.interval is not None
    assert recent.interval.low < 0.105 < recent.interval.high


def test_the_interval_of_a_chain_grows_with_its_length():
    """The error of each link stays in all levels after it."""
    widths = []
    for number in (10, 80):
        recent = only(in_duets(random.Random(1), [0.0] * number)).recent
        assert recent is not None
        assert recent.interval is not None
        assert recent.interval.low < 0 < recent.interval.high
        widths.append(recent.interval.width)
    assert widths[1] > 1.5 * widths[0]


def test_levels_are_told_as_changes_since_the_first_point():
    trend = only(in_duets(random.Random(1), [0.0, 0.0, 0.5]))
    first, last = trend.points
    assert first.level == 0.0
    assert last.level == pytest.approx(0.65, abs=0.05)
    assert first.date == dated(1)


def test_trends_stand_in_the_order_of_their_tests():
    rng = random.Random(1)
    past = [*in_duets(rng, [0.0] * 3, "b"), *in_reference_units(rng, [0.0] * 3, "a")]
    assert [trend.nodeid for trend in trends(past)] == ["a", "b"]


# Small changes that add up are seen, in levels and in chains; noise and steps are none.


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


# The tests whose verdicts rest on shaky ground, and why.


STEADY, WIDE = 0.01, 0.04


def runs(name: str, half: float, outcomes: str = "....", **fields: Any) -> list[PastTest]:
    """A dot is a run that was decided, a question mark one that was not."""
    return [
        a_past(
            commit_name(number),
            f"test_a.py::{name}",
            created=dated(number),
            metrics=(
                a_past_metric(
                    change=0.0,
                    low=-half,
                    high=half,
                    threshold=0.05,
                    outcome="unchanged" if outcome == "." else "inconclusive",
                ),
            ),
            **fields,
        )
        for number, outcome in enumerate(outcomes)
    ]


def names(*tests: PastTest) -> list[str]:
    return [found.nodeid.partition("::")[2] for found in flakiest(tests, most=5)]


def test_undecided_ones_come_first_then_the_widest():
    past = [
        *runs("test_steady", STEADY),
        *runs("test_wide", WIDE),
        *runs("test_wider", 2 * WIDE),
        *runs("test_undecided", STEADY, ".?.?"),
    ]
    assert names(*past) == ["test_undecided", "test_wider", "test_wide"]


def test_no_more_are_named_than_asked_for():
    past = [*runs("test_a", WIDE), *runs("test_b", WIDE)]
    assert len(flakiest(past, most=1)) == 1


@pytest.mark.parametrize(
    ("fields", "causes"),
    [
        ({"steal": 0.2}, (STOLEN,)),
        ({"drift": 0.1}, (SLOWING,)),
        ({"steal": 0.2, "drift": 0.1}, (STOLEN, SLOWING)),
        ({"steal": 0.001}, (OWN,)),
        ({}, (OWN,)),
    ],
)
def test_the_cause_is_named(fields: dict[str, Any], causes: tuple[str, ...]):
    (found,) = flakiest(runs("test_a", WIDE, **fields), most=5)
    assert found.causes == causes


def test_numbers_are_those_of_the_typical_run():
    past = [*runs("test_a", WIDE, "...?"), *runs("test_a", 0.9, ".", steal=0.9)]
    (found,) = flakiest(past, most=5)
    assert (found.runs, found.width, found.undecided) == (5, WIDE, 0.2)
    assert found.steal == 0.0


def test_only_the_last_runs_count():
    past = runs("test_a", STEADY, "?" * 5 + "." * 20)
    assert flakiest(past, most=5) == ()
