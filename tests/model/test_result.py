"""Which of a test's metrics count, and which of their verdicts stands for the test."""

from dataclasses import replace

import pytest

from pytest_rlperf.model.memory import MemoryResult
from pytest_rlperf.model.metric import (
    EXPONENT,
    IMPORT_TIME,
    KINDS,
    PEAK,
    THROUGHPUT,
    TIME,
    GrowthCurve,
    Metric,
    Outcome,
    Severity,
    Verdict,
)
from pytest_rlperf.model.result import Failure
from tests.factories import a_test, block, verdict

LARGER = Metric(PEAK, verdict(Outcome.REGRESSED, "larger", severity=Severity.NOTICE), head=(9.0,))
SHOWN = Metric("gc_pause", Verdict(Outcome.SHOWN, "not judged"), value=5.0)
SLOWER_START = Metric(IMPORT_TIME, verdict(Outcome.REGRESSED, "slow", severity=Severity.HIGH))


def test_time_and_throughput_are_one_verdict_shown_twice():
    test = a_test(blocks=(block([500], [400]),), steps=5)
    assert [metric.name for metric in test.metrics] == [TIME, THROUGHPUT]
    assert test.metrics[0].verdict == test.metrics[1].verdict
    assert test.judged == test.metrics[:1]
    assert len(test.verdicts) == 1


def test_what_is_only_shown_does_not_count():
    assert a_test(beside=(SHOWN,)).verdicts == a_test().verdicts


def test_the_worst_is_the_severest_regression():
    test = a_test(beside=(LARGER, SLOWER_START))
    assert (test.outcome, test.severity) == (Outcome.REGRESSED, Severity.HIGH)
    assert test.worst == SLOWER_START.verdict
    assert test.memory_bytes == (9.0,)


def test_a_line_shows_the_verdict_on_time_and_without_one_the_worst():
    assert a_test(beside=(LARGER,)).headline.outcome is Outcome.UNCHANGED
    assert a_test(beside=(LARGER,), timed=False).headline == LARGER.verdict


def test_memory_that_was_not_measured_counts_as_its_trouble():
    trouble = Verdict(Outcome.INCONCLUSIVE, "the budget ran out")
    test = a_test(memory=MemoryResult(0, trouble=trouble))
    assert (test.outcome, test.headline.outcome) == (Outcome.INCONCLUSIVE, Outcome.UNCHANGED)


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"failure": Failure("why")}, Outcome.FAILED),
        ({"failure": Failure("why"), "skipped": "why"}, Outcome.FAILED),
        ({"skipped": ""}, Outcome.SKIPPED),
    ],
)
def test_a_test_that_did_not_run_to_its_end_has_no_other_verdict(
    fields: dict[str, object], outcome: Outcome
):
    test = replace(a_test(beside=(LARGER,), timed=False), **fields)  # type: ignore[arg-type]
    assert (test.outcome, test.severity) == (outcome, None)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        (TIME, 1.5e6, "1.5 ms"),
        (THROUGHPUT, 12_345.6, "12,346 steps/s"),
        (PEAK, 2.0**20, "1 MiB"),
        ("growth", 2048.0, "2 KiB a repeat"),
        ("traced_blocks", 1234.0, "1,234 blocks"),
        ("gc_pause", 1e3, "1 µs"),
        (IMPORT_TIME, 2e9, "2 s"),
    ],
)
def test_the_table_says_how_a_value_is_written(name: str, value: float, shown: str):
    assert Metric(name, verdict()).written(value) == shown


def test_an_exponent_is_written_with_the_law_of_its_sizes():
    metric = Metric(EXPONENT, verdict(), curve=GrowthCurve((100, 1000)))
    assert [metric.written(value) for value in (1.02, 1.5)] == ["1.02 O(n)", "O(n^1.5)"]


def test_every_metric_can_be_written():
    assert all(Metric(name, verdict()).written(1.0) for name in KINDS)
