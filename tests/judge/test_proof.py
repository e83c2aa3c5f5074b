"""Rates from verdicts on changes that are known."""

import pytest

from pytest_rlperf.judge.proof import (
    Expectation,
    by_case,
    by_test,
    expectation,
    false_alarms,
    missed,
)
from pytest_rlperf.judge.rates import rate_of
from pytest_rlperf.model.verdict import Interval, Outcome
from tests.factories import a_trial


@pytest.mark.parametrize(
    ("injected", "threshold", "expected"),
    [
        (0.0, 0.05, Expectation.NEVER),
        (0.05, 0.10, Expectation.HARDLY),
        (0.05, 0.05, Expectation.AT_LIMIT),
        (0.1, 0.07, Expectation.OFTEN),
        (0.1, 0.05, Expectation.ALWAYS),
        (0.1, 0.02, Expectation.ALWAYS),
        (0.3, 0.1 + 0.05, Expectation.ALWAYS),  # twice, but for rounding
    ],
)
def test_what_is_expected_depends_on_how_a_change_stands_to_the_threshold(
    injected: float, threshold: float, expected: Expectation
):
    assert expectation(injected, threshold) is expected


def test_figures_are_those_of_the_verdicts():
    trials = [
        a_trial(outcome=Outcome.UNCHANGED, interval=Interval(0.01, -0.01, 0.03), seconds=2.0),
        a_trial(outcome=Outcome.REGRESSED, interval=Interval(0.07, 0.06, 0.08), seconds=4.0),
        a_trial(outcome=Outcome.INCONCLUSIVE, interval=Interval(0.04, -0.02, 0.1), seconds=6.0),
        a_trial(outcome=Outcome.IMPROVED, interval=Interval(-0.08, -0.1, -0.06), seconds=8.0),
    ]
    (found,) = by_case(trials)
    assert found.slower == rate_of(1, 4)
    assert (found.n, found.faster, found.inconclusive) == (4, 1, 1)
    assert found.covered == rate_of(2, 4)
    assert found.mean_change == pytest.approx(0.01)
    assert found.sd_change == pytest.approx(0.0648, abs=1e-4)
    assert found.mean_seconds == 5.0


def test_an_interval_must_hold_what_was_injected_and_not_zero():
    (found,) = by_case([a_trial(injected=0.1, interval=Interval(0.1, 0.09, 0.11))])
    assert found.covered == rate_of(1, 1)
    assert found.sd_change is None


def test_changes_and_thresholds_are_told_apart():
    trials = [a_trial(injected=0.1), a_trial(), a_trial(threshold=0.02), a_trial()]
    cases = [(found.injected, found.threshold, found.n) for found in by_case(trials)]
    assert cases == [(0.0, 0.02, 1), (0.0, 0.05, 2), (0.1, 0.05, 1)]


def test_every_test_has_figures_of_its_own():
    found = by_test([a_trial("b"), a_trial("a"), a_trial("b", injected=0.1), a_trial("b")])
    assert {nodeid: [f.n for f in figures] for nodeid, figures in found.items()} == {
        "a": [1],
        "b": [2, 1],
    }


def test_a_false_alarm_is_unchanged_code_called_slower():
    alarm = a_trial(outcome=Outcome.REGRESSED)
    trials = [a_trial(), alarm, a_trial(injected=0.05, outcome=Outcome.REGRESSED)]
    assert false_alarms(trials) == (alarm,)


def test_only_what_lies_far_above_the_threshold_can_be_missed():
    silent = a_trial(injected=0.1, outcome=Outcome.INCONCLUSIVE)
    trials = [
        a_trial(injected=0.1, outcome=Outcome.REGRESSED),
        silent,
        a_trial(injected=0.1, threshold=0.07),
        a_trial(injected=0.05),
        a_trial(),
    ]
    assert missed(trials) == (silent,)


def test_no_verdicts_have_no_figures():
    assert by_case([]) == ()
    assert by_test([]) == {}
