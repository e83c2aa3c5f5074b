"""Which change comes next, and when there is enough."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.gate.partners import BaseRevision
from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.result import Goal
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.prove.cases import (
    CASES,
    Case,
    counting,
    expected_s,
    goals,
    is_verdict,
    kinds_of,
    next_goal,
)
from tests.factories import a_test, a_trial, examples, verdict


def test_goals_count_the_verdicts_on_each_change():
    trials = [a_trial(), a_trial(injected=0.1), a_trial(injected=0.2)]
    assert goals([Case(0.0, 10), Case(0.1, 5)], trials) == (Goal(0.0, 1, 10), Goal(0.1, 1, 5))


def test_the_change_with_the_smallest_share_comes_next():
    assert next_goal([Goal(0.0, 3, 10), Goal(0.1, 1, 5)]) == Goal(0.1, 1, 5)
    assert next_goal([Goal(0.0, 1, 10), Goal(0.1, 1, 5)]) == Goal(0.0, 1, 10)


def test_one_that_has_all_of_its_verdicts_does_not_come_again():
    assert next_goal([Goal(0.0, 12, 10), Goal(0.1, 4, 5)]) == Goal(0.1, 4, 5)
    assert next_goal([Goal(0.0, 12, 10), Goal(0.1, 5, 5)]) is None
    assert next_goal([Goal(0.0, 0, 0)]) is None


def test_a_first_run_sees_unchanged_code_then_the_clearest_change():
    first = next_goal(goals(CASES, []))
    second = next_goal(goals(CASES, [a_trial()]))
    assert first
    assert second
    assert (first.injected, second.injected) == (0.0, 0.1)


@examples
@given(st.integers(1, 40))
def test_turns_keep_the_shares_even(tests: int):
    """Whatever number of verdicts a round gives."""
    done = dict.fromkeys((case.injected for case in CASES), 0)
    for _ in range(30):
        goal = next_goal([Goal(c.injected, done[c.injected], c.wanted) for c in CASES])
        if goal is None:
            break
        done[goal.injected] += tests
    shares = [done[case.injected] / case.wanted for case in CASES]
    assert max(shares) - min(shares) <= tests / min(case.wanted for case in CASES)


def test_a_round_should_take_what_earlier_ones_of_the_same_change_took():
    goal = Goal(0.1, 1, 5)
    other, same = a_trial(seconds=2.0), a_trial(injected=0.1, seconds=5.0)
    assert expected_s(goal, [other, same], tests=3) == 15.0
    assert expected_s(goal, [other], tests=3) == 6.0
    assert expected_s(goal, [], tests=3) == 0.0


# Which verdicts are counted together.


FINGERPRINT: dict[str, Any] = {
    "cpu": "Some CPU",
    "cores": 2,
    "pinned_to": [0, 1],
    "architecture": "x86_64",
    "system": "Linux 6",
    "python": "3.11.7",
    "python_build": "3.11.7, GCC 12.2.0",
    "addresses": "fixed",
    "implementation": "CPython",
    "libraries": {"pytest-rlperf": "0.1.0"},
    "threads": {},
}
TEST = Benchmark("test_a.py::test_a", Spec(), "abc", "pytest")
KINDS = kinds_of([TEST], BaseRevision(), FINGERPRINT)
SAME = a_trial(facts=KINDS[TEST.nodeid].facts)


def test_the_threshold_is_the_one_that_applies_to_the_test():
    strict = replace(TEST, nodeid="b", spec=Spec(threshold=0.02))
    kinds = kinds_of([TEST, strict], BaseRevision(0.03), FINGERPRINT)
    assert {nodeid: kind.threshold for nodeid, kind in kinds.items()} == {
        TEST.nodeid: 0.03,
        "b": 0.02,
    }


@pytest.mark.parametrize(
    "other", [{"commit": None}, {"dirty": True}, {"injected": 0.1}, {"created": "2031-01-01"}]
)
def test_verdicts_on_other_code_count_too(other: dict[str, Any]):
    """They are no less verdicts of this gate on this machine."""
    trials = [SAME, replace(SAME, **other)]
    assert counting(trials, KINDS) == trials


@pytest.mark.parametrize(
    "other",
    [
        {"nodeid": "test_a.py::test_b"},
        {"source_hash": "other"},
        {"threshold": 0.1},
        {"facts": {**SAME.facts, "cpu": "Another CPU"}},
        {"facts": {**SAME.facts, "pytest-rlperf": "0.2.0"}},
        {"facts": {**SAME.facts, "pinned": False}},
        {"facts": {**SAME.facts, "threads": 2}},
    ],
)
def test_other_tests_thresholds_versions_and_machines_do_not_count(other: dict[str, Any]):
    assert counting([SAME, replace(SAME, **other)], KINDS) == [SAME]


def test_a_verdict_rests_on_a_comparison():
    measured = verdict(Outcome.INCONCLUSIVE, change=(0.01, -0.1, 0.1))
    assert is_verdict(a_test(verdict=measured))
    assert not is_verdict(a_test(verdict=verdict(Outcome.INCONCLUSIVE)))
    assert not is_verdict(a_test(verdict=verdict(Outcome.FAILED)))
    assert not is_verdict(a_test(verdict=verdict(Outcome.INCOMPARABLE, change=(0.0, 0.0, 0.0))))
