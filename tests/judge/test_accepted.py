"""Exemption regressions: shown as such until their day, never silently passed."""

import datetime

import pytest

from pytest_rlperf.judge.accepted import accepted_verdict, entry_for, stale_entries, with_accepted
from pytest_rlperf.model.exemption import Exemption
from pytest_rlperf.model.verdict import COMPARED, UNSURE, Outcome, Severity, Verdict
from tests.factories import a_test, verdict

DAY = datetime.date(2030, 1, 31)
NODE = "tests/test_a.py::test_a[x[0]-big]"
ENTRY = Exemption(NODE, DAY, "waiting for numpy 3")
SLOWER = verdict(
    Outcome.REGRESSED, "slower than the allowed +5.0 %", (0.25, 0.2, 0.3), severity=Severity.HIGH
)


def test_a_regression_becomes_an_accepted_one_that_says_why():
    found = accepted_verdict(SLOWER, ENTRY, DAY)
    assert found.outcome is Outcome.ACCEPTED
    assert found.reason == (
        "slower than the allowed +5.0 %, but accepted until 2030-01-31: waiting for numpy 3"
    )


def test_the_numbers_of_an_accepted_regression_stay():
    found = accepted_verdict(SLOWER, ENTRY, DAY)
    assert found.interval == SLOWER.interval
    assert found.severity is Severity.HIGH


def test_the_day_after_it_fails_again_and_says_what_to_do():
    found = accepted_verdict(SLOWER, ENTRY, DAY + datetime.timedelta(days=1))
    assert found.outcome is Outcome.REGRESSED
    assert found.reason == (
        "slower than the allowed +5.0 %; it was accepted until 2030-01-31 only "
        "(waiting for numpy 3): mend it, or renew the entry in [tool.rlperf.accepted]"
    )


@pytest.mark.parametrize(
    ("allowed", "outcome"),
    [
        (0.35, Outcome.ACCEPTED),
        (0.22, Outcome.ACCEPTED),  # its interval holds it
        (0.19, Outcome.REGRESSED),
    ],
)
def test_more_than_the_entry_allows_is_not_accepted(allowed: float, outcome: Outcome):
    found = accepted_verdict(SLOWER, Exemption(NODE, DAY, "reason", allowed), DAY)
    assert found.outcome is outcome


def test_a_regression_beyond_the_entry_names_both_limits():
    found = accepted_verdict(SLOWER, Exemption(NODE, DAY, "new checks", 0.1), DAY)
    assert found.reason == (
        "slower than the allowed +5.0 %; more than the +10.0 % that are accepted until 2030-01-31 "
        "(new checks)"
    )


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.REGRESSED])
def test_other_verdicts_stay_as_they_are(outcome: Outcome):
    other = Verdict(outcome, "a reason")
    assert accepted_verdict(other, ENTRY, DAY) is other


def test_without_an_entry_a_regression_stays_one():
    assert accepted_verdict(SLOWER, None, DAY) is SLOWER


def test_an_accepted_regression_was_compared_and_is_sure():
    assert Outcome.ACCEPTED in COMPARED - UNSURE


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        (NODE, True),
        ("tests/test_a.py::test_a*", True),
        ("tests/*::test_a[x[0]-*]", True),
        ("*", True),
        ("tests/test_a.py", False),
        ("tests/test_a.py::test_a[x0-big]", False),
        ("tests/test_?.py::*", False),  # only * is special
    ],
)
def test_a_pattern_takes_brackets_as_they_are(pattern: str, matches: bool):
    assert Exemption(pattern, DAY, "reason").matches(NODE) is matches


def test_the_entry_of_the_test_itself_comes_before_patterns():
    wide, other = Exemption("tests/*", DAY, "wide"), Exemption("*", DAY, "wider")
    assert entry_for(NODE, [wide, other, ENTRY]) is ENTRY
    assert entry_for("tests/b.py::test_b", [wide, other, ENTRY]) is wide
    assert entry_for("b.py::test_b", [wide, ENTRY]) is None


def test_only_the_named_tests_of_a_run_are_accepted():
    found = with_accepted([a_test(NODE, verdict=SLOWER), a_test(verdict=SLOWER)], [ENTRY], DAY)
    assert [test.verdict.outcome for test in found] == [Outcome.ACCEPTED, Outcome.REGRESSED]


def test_an_entry_without_a_test_or_time_is_reported():
    gone, late = Exemption("gone.py::*", DAY, "r"), DAY + datetime.timedelta(days=1)
    no_test = "[tool.rlperf.accepted], 'gone.py::*': no collected test matches it; "
    assert stale_entries([ENTRY, gone], [NODE], DAY) == [no_test + "correct or remove it."]
    ended = f"[tool.rlperf.accepted], {NODE!r}: it ended on 2030-01-31; remove it."
    assert stale_entries([ENTRY], [NODE], late) == [ended]
