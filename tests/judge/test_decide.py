"""The sequential decision: each outcome, its error rates by simulation, and replay."""

import math
import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.judge.decide import (
    BUILD_LEVEL,
    LATE_LOOK,
    LOOKS,
    SMALL_THRESHOLD,
    SUSPECT_LEVEL,
    Decision,
    Gate,
    decide,
)
from pytest_rlperf.judge.estimate import LEAST_BLOCKS, LogRatios
from pytest_rlperf.model.verdict import Outcome
from tests.factories import examples, noisy_ratios

GATE = Gate(threshold=0.05)
MOST_BLOCKS = 2 * LATE_LOOK  # more than any decision takes
QUIET, NOISY = 0.002, 0.03


def blocks(change: float, number: int = MOST_BLOCKS, spread: float = QUIET) -> list[LogRatios]:
    """Blocks of a relative change, the same ones each time."""
    return noisy_ratios(random.Random(1), number, math.log1p(change), spread)


def simulate(change: float, gate: Gate, runs: int, spread: float = 0.01) -> Counter[Outcome | None]:
    rng = random.Random(f"{change} {gate}")
    most = 2 * gate.looks[-1]
    draws = (noisy_ratios(rng, most, math.log1p(change), spread) for _ in range(runs))
    return Counter(decide(drawn, gate).outcome for drawn in draws)


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        (+0.20, Outcome.REGRESSED),
        (+0.10, Outcome.REGRESSED),
        (+0.03, Outcome.UNCHANGED),
        (+0.00, Outcome.UNCHANGED),
        (-0.03, Outcome.UNCHANGED),
        (-0.10, Outcome.IMPROVED),
        (-0.50, Outcome.IMPROVED),
    ],
)
def test_a_clear_change_gets_its_outcome_and_an_interval_around_it(change: float, outcome: Outcome):
    found = decide(blocks(change), GATE)
    assert found.outcome is outcome
    assert found.interval is not None
    assert found.interval.low < found.interval.change < found.interval.high
    assert found.interval.change == pytest.approx(change, abs=0.005)


def test_before_the_first_look_more_blocks_are_wanted():
    found = decide(blocks(0.0, LOOKS[0] - 1), GATE)
    assert (found.outcome, found.needed) == (None, LOOKS[0])


def test_without_blocks_there_is_no_interval():
    assert decide([], GATE) == Decision(None, LOOKS[0])
    assert decide([], GATE, exhausted=True) == Decision(Outcome.INCONCLUSIVE, 0)


def test_a_suspicion_is_not_called_before_fresh_blocks_confirm_it():
    suspected = decide(blocks(0.2, LOOKS[0]), GATE)
    assert suspected.outcome is None
    assert suspected.needed > LOOKS[0]
    assert decide(blocks(0.2, suspected.needed), GATE).outcome is Outcome.REGRESSED


def test_a_suspicion_that_fresh_blocks_do_not_confirm_is_dropped():
    needed = decide(blocks(0.2, LOOKS[0]), GATE).needed
    harmless = blocks(0.0, needed - LOOKS[0])
    assert decide(blocks(0.2, LOOKS[0]) + harmless, GATE).outcome is not Outcome.REGRESSED


def test_a_change_at_the_threshold_stays_inconclusive_and_says_what_could_have_been_detected():
    found = decide(blocks(GATE.threshold, spread=NOISY), GATE)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.detectable is not None
    assert GATE.threshold < found.detectable < 2 * GATE.threshold


def test_an_exhausted_budget_is_inconclusive_while_the_interval_holds_the_threshold():
    few = blocks(0.04, LOOKS[0] - 1, spread=NOISY)
    assert decide(few, GATE).outcome is None
    found = decide(few, GATE, exhausted=True)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.interval is not None
    assert found.interval.low < GATE.threshold < found.interval.high
    assert found.detectable is not None


def test_an_exhausted_budget_still_passes_what_is_clear():
    assert decide(blocks(0.0, LEAST_BLOCKS), GATE, exhausted=True).outcome is Outcome.UNCHANGED
    assert decide(blocks(-0.3, LEAST_BLOCKS), GATE, exhausted=True).outcome is Outcome.IMPROVED


def test_an_exhausted_budget_alone_makes_no_regression_of_a_suspicion():
    assert decide(blocks(0.2, LOOKS[0]), GATE, exhausted=True).outcome is Outcome.INCONCLUSIVE


def test_an_exhausted_budget_calls_a_suspicion_that_some_fresh_blocks_confirm():
    number = LOOKS[0] + LEAST_BLOCKS
    assert decide(blocks(0.2, number), GATE, exhausted=True).outcome is Outcome.REGRESSED


def test_noisier_blocks_detect_less():
    quiet = decide(blocks(0.0, LOOKS[0], QUIET), GATE, exhausted=True)
    noisy = decide(blocks(0.0, LOOKS[0], NOISY), GATE, exhausted=True)
    assert quiet.detectable is not None
    assert noisy.detectable is not None
    assert GATE.threshold < quiet.detectable < noisy.detectable


def test_a_slowdown_of_some_calls_is_judged_on_the_sums():
    minority = [replace(b, total=b.total + math.log1p(0.1)) for b in blocks(0.0)]
    found = decide(minority, GATE)
    assert found.outcome is Outcome.REGRESSED
    assert found.by_sums
    assert found.interval is not None
    assert found.interval.change == pytest.approx(0.1, abs=0.005)


def test_sums_that_agree_leave_the_judgement_to_the_median():
    assert not decide(blocks(0.1), GATE).by_sums


def test_unclear_sums_hold_back_a_pass():
    rng = random.Random(1)
    unclear = [replace(b, total=rng.gauss(0.05, 0.1)) for b in blocks(0.0, LOOKS[0])]
    assert decide(blocks(0.0, LOOKS[0]), GATE).outcome is Outcome.UNCHANGED
    assert decide(unclear, GATE).outcome is None


@examples
@given(st.lists(st.sampled_from([-0.1, 0.0, 0.06, 0.2]), min_size=1, max_size=3), st.data())
def test_more_blocks_never_change_what_was_decided(changes: list[float], data: st.DataObject):
    rng = random.Random(data.draw(st.integers()))
    share = MOST_BLOCKS // len(changes)
    drawn = [b for c in changes for b in noisy_ratios(rng, share, math.log1p(c), 0.01)]
    for number in data.draw(st.lists(st.integers(0, len(drawn)), min_size=5, max_size=5)):
        earlier = decide(drawn[:number], GATE).outcome
        assert earlier in (None, decide(drawn, GATE).outcome)


@examples
@given(st.integers(0, MOST_BLOCKS), st.sampled_from([-0.1, 0.0, 0.05, 0.1]), st.integers())
def test_an_open_decision_wants_more_blocks_than_it_has(number: int, change: float, seed: int):
    drawn = noisy_ratios(random.Random(seed), number, math.log1p(change), NOISY)
    found = decide(drawn, GATE)
    assert found.outcome is not None or found.needed > number
    assert decide(drawn, GATE, exhausted=True).outcome is not None


@pytest.mark.parametrize(("threshold", "runs"), [(0.05, 2000), (0.02, 800)])
def test_a_change_of_exactly_the_threshold_is_called_no_oftener_than_promised(
    threshold: float, runs: int
):
    gate = Gate(threshold)
    expected = runs * len(gate.looks) * SUSPECT_LEVEL * gate.confirm_level
    called = simulate(threshold, gate, runs)[Outcome.REGRESSED]
    assert called <= expected + 4 * math.sqrt(expected)


def test_unchanged_code_is_never_called_slower():
    found = simulate(0.0, GATE, 1000)
    assert found[Outcome.REGRESSED] == found[Outcome.IMPROVED] == 0
    assert found[Outcome.UNCHANGED] >= 995


@pytest.mark.parametrize(("threshold", "change"), [(0.05, 0.10), (0.02, 0.04)])
def test_twice_the_threshold_is_caught(threshold: float, change: float):
    assert simulate(change, Gate(threshold), 500)[Outcome.REGRESSED] >= 490


@pytest.mark.parametrize("threshold", [0.01, 0.05, 0.25])
@pytest.mark.parametrize("tests", [1, 10, 1000])
def test_the_tests_of_a_build_share_its_budget_of_false_alarms(threshold: float, tests: int):
    gate = Gate(threshold, tests)
    assert tests * len(gate.looks) * SUSPECT_LEVEL * gate.confirm_level <= BUILD_LEVEL * 1.000001


def test_more_tests_make_confirmation_stricter():
    levels = [Gate(0.05, tests).confirm_level for tests in (0, 1, 10, 100, 1000)]
    assert levels == sorted(levels, reverse=True)
    assert levels[-1] < levels[0]


def test_a_small_threshold_gets_one_more_look():
    assert Gate(SMALL_THRESHOLD).looks == LOOKS
    assert Gate(SMALL_THRESHOLD * 0.99).looks == (*LOOKS, LATE_LOOK)
