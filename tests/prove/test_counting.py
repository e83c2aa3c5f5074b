"""Which verdicts are counted together."""

from dataclasses import replace
from typing import Any

import pytest

from pytest_rlperf.model.spec import Spec
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.prove.counting import counting, is_verdict, kinds_of
from pytest_rlperf.run.partners import BaseRevision
from pytest_rlperf.run.track import Benchmark
from tests.factories import a_test, a_trial, verdict

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
