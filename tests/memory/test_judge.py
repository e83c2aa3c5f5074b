"""Verdicts on memory: by how many bytes, and by what share of the base."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.memory.judge import Sizes, decided, judged
from pytest_rlperf.model.memory import KIB, METRICS, MIB, Limits
from pytest_rlperf.model.metric import Metric, Outcome, Severity
from pytest_rlperf.stats.verdicts import Ended
from tests.factories import examples

BY_NAME = {metric.name: metric for metric in METRICS}
LIMITS = Limits()


def around(size: float, number: int, spread: float = KIB) -> tuple[float, ...]:
    rng = random.Random(size)
    return tuple(rng.gauss(size, spread) for _ in range(number))


def verdict(name: str, head: float, base: float, number: int = 12, spread: float = KIB) -> Metric:
    sizes = Sizes(BY_NAME[name], around(head, number, spread), around(base, number, spread))
    return judged(sizes, LIMITS, decided(sizes, LIMITS, gates=10, exhausted=True))


@pytest.mark.parametrize(
    ("name", "head", "base", "outcome"),
    [
        ("peak_rss", 7 * MIB, 5 * MIB, Outcome.REGRESSED),
        ("peak_rss", 5 * MIB, 5 * MIB, Outcome.UNCHANGED),
        ("peak_rss", 5 * MIB, 7 * MIB, Outcome.IMPROVED),
        ("peak_rss", 900 * KIB, 100 * KIB, Outcome.UNCHANGED),  # much more, but little
        ("peak_rss", 110 * MIB, 100 * MIB, Outcome.UNCHANGED),  # a lot, but a small share
        ("traced_peak", 5.4 * MIB, 5 * MIB, Outcome.REGRESSED),
        ("growth", 10 * KIB, 0, Outcome.REGRESSED),
        ("growth", 10 * KIB, 10 * KIB, Outcome.UNCHANGED),  # a buffer that fills on both sides
    ],
)
def test_too_much_is_more_by_a_share_and_by_an_amount(
    name: str, head: float, base: float, outcome: Outcome
):
    spread = 10 if name == "growth" else KIB
    assert verdict(name, head, base, spread=spread).verdict.outcome is outcome


def test_three_processes_pass_and_three_more_confirm():
    def needed(head: float) -> int:
        sizes = Sizes(BY_NAME["peak_rss"], around(head, 12), around(5 * MIB, 12))
        decision = decided(sizes, LIMITS, gates=10, exhausted=False)
        assert decision is not None
        return decision.blocks

    assert needed(5 * MIB) == 3
    assert needed(9 * MIB) == 6


def test_a_row_has_the_change_as_a_share_and_in_bytes():
    found = verdict("peak_rss", 7 * MIB, 5 * MIB)
    assert found.verdict.interval is not None
    assert found.amount is not None
    assert found.verdict.interval.change == pytest.approx(0.4, abs=0.01)
    assert found.amount.change == pytest.approx(2 * MIB, rel=0.01)
    assert (found.verdict.threshold, found.threshold_abs) == (0.20, MIB)


def test_what_grows_from_nothing_has_no_share():
    found = verdict("growth", 10 * KIB, 0, spread=10)
    assert found.verdict.interval is None
    assert found.amount is not None
    assert found.amount.low > KIB


def test_memory_is_medium_above_twenty_percent():
    assert verdict("peak_rss", 7 * MIB, 5 * MIB).verdict.severity is Severity.MEDIUM
    assert verdict("traced_peak", 5.5 * MIB, 5 * MIB).verdict.severity is Severity.NOTICE
    assert verdict("growth", 10 * KIB, 0, spread=10).verdict.severity is Severity.MEDIUM


def test_what_no_rule_judges_is_shown():
    assert verdict("gc_collections", 9, 1, spread=0.1).verdict.outcome is Outcome.SHOWN


def test_two_processes_are_too_few_to_tell():
    found = verdict("peak_rss", 9 * MIB, 5 * MIB, number=2).verdict
    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.reason.startswith("2 processes are too few")


def test_without_a_base_there_is_no_verdict():
    sizes = Sizes(BY_NAME["peak_rss"], around(MIB, 3))
    found = judged(sizes, LIMITS, decided(sizes, LIMITS, 1, exhausted=True))
    assert found.verdict.outcome is Outcome.NO_BASELINE
    assert found.base_value is None


def test_a_base_of_other_facts_is_not_compared_with():
    ended = Ended(Outcome.INCOMPARABLE, "another CPU")
    sizes = Sizes(BY_NAME["uss"], around(MIB, 3), around(9 * MIB, 3), stored=True, ended=ended)
    found = judged(sizes, LIMITS, decided(sizes, LIMITS, 1, exhausted=True))
    assert (found.verdict.outcome, found.verdict.reason) == (Outcome.INCOMPARABLE, "another CPU")


def test_stored_sizes_need_not_be_as_many():
    head, base = around(7 * MIB, 6), around(5 * MIB, 3)
    sizes = Sizes(BY_NAME["peak_rss"], head, base, stored=True)
    decision = decided(sizes, LIMITS, gates=1, exhausted=True)
    assert decision is not None
    assert decision.outcome is Outcome.REGRESSED


@examples
@given(st.lists(st.floats(0, 1e9), min_size=3, max_size=12), st.integers(1, 100))
def test_equal_sides_never_regress(sizes: list[float], gates: int):
    same = Sizes(BY_NAME["peak_rss"], tuple(sizes), tuple(sizes))
    decision = decided(same, LIMITS, gates, exhausted=True)
    assert decision is not None
    assert decision.outcome is Outcome.UNCHANGED
