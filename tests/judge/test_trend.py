"""Trends of whole histories: what is found, between which commits, and what is left unsaid."""

import random
from dataclasses import replace

import pytest

from pytest_rlperf.judge.trend import trends
from pytest_rlperf.model.history import PastTest
from pytest_rlperf.model.trend import Signal, Trend
from tests.judge.histories import commit_name, dated, in_duets, in_reference_units, number_of


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
    assert {test.metrics[0].outcome for test in past} == {"unchanged"}
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
