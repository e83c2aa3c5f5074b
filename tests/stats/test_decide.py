"""The sequential decision: each outcome, its error rates by simulation, and replay."""

import math
import random
import statistics
from collections import Counter
from dataclasses import replace
from statistics import NormalDist

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_rlperf.model.block import LEAST_BLOCKS, LogRatios
from pytest_rlperf.model.metric import WITHIN, Outcome
from pytest_rlperf.stats.decide import (
    BUILD_LEVEL,
    FIRST_FRESH,
    HOPE_FROM,
    LATE_LOOK,
    LEAST_FRESH,
    LOOKS,
    MATTERS,
    SMALL_THRESHOLD,
    SUSPECT_RATE,
    TEST_LEVEL,
    Decision,
    DifferenceGate,
    Gate,
    by_sums,
    decide,
)
from pytest_rlperf.stats.estimate import Estimate
from tests.factories import examples, noisy_ratios

GATE = Gate(threshold=0.05)
MOST_BLOCKS = 2 * LATE_LOOK  # more than any decision takes
# When a suspicion of the first look is called: at the latest, and where it is plain to see.
CONFIRMED, PLAIN = LOOKS[0] + LEAST_FRESH, LOOKS[0] + FIRST_FRESH
BETWEEN_LOOKS = 7
QUIET, NOISY = 0.002, 0.03


class LateGate(Gate):
    """A gate whose first look is at more blocks than its fresh ones can outvote."""

    @property
    def looks(self) -> tuple[int, ...]:
        return LOOKS[2:]


def blocks(change: float, number: int = MOST_BLOCKS, spread: float = QUIET) -> list[LogRatios]:
    """Blocks of a relative change, the same ones each time."""
    return noisy_ratios(random.Random(1), number, math.log1p(change), spread)


def at_most(expected: float) -> float:
    """Return a count that rare events do not exceed by chance."""
    return expected + 4 * math.sqrt(expected)


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
        (+0.03, Outcome.SLOWER),
        (+0.00, Outcome.UNCHANGED),
        (-0.03, Outcome.FASTER),
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


def test_between_two_looks_more_blocks_are_wanted():
    found = decide(blocks(GATE.threshold, BETWEEN_LOOKS), GATE)
    assert (found.outcome, found.blocks, found.out_of_time) == (None, BETWEEN_LOOKS, False)
    assert found.interval is not None


@pytest.mark.parametrize("number", range(LEAST_BLOCKS))
def test_too_few_blocks_have_no_interval(number: int):
    few = blocks(0.0, number)
    assert decide(few, GATE) == Decision(None, number, next_look=LOOKS[0])
    over = decide(few, GATE, exhausted=True)
    assert (over.outcome, over.blocks, over.out_of_time) == (Outcome.INCONCLUSIVE, number, True)
    assert over.interval is None


@pytest.mark.parametrize(
    ("change", "number", "next_look"),
    [
        (0.0, LOOKS[0] - 1, LOOKS[0]),
        (GATE.threshold, BETWEEN_LOOKS, BETWEEN_LOOKS + 1),
        (0.2, LOOKS[0], LOOKS[0] + FIRST_FRESH),
        (0.2, LOOKS[0] + 1, LOOKS[0] + FIRST_FRESH),
    ],
)
def test_it_says_at_how_many_blocks_it_looks_again(change: float, number: int, next_look: int):
    found = decide(blocks(change, number), GATE)
    assert (found.outcome, found.next_look) == (None, next_look)


@pytest.mark.parametrize("number", [LOOKS[0], CONFIRMED - 1])
def test_a_suspicion_is_not_called_before_fresh_blocks_confirm_it(number: int):
    suspected, fresh = blocks(0.2, LOOKS[0]), blocks(0.1, LEAST_FRESH, NOISY)
    assert decide((suspected + fresh)[:number], GATE).outcome is None
    found = decide(suspected + fresh, GATE)
    assert (found.outcome, found.blocks) == (Outcome.REGRESSED, CONFIRMED)


@pytest.mark.parametrize("number", [LOOKS[0], PLAIN - 1])
def test_what_is_plain_to_see_needs_fewer_fresh_blocks(number: int):
    assert decide(blocks(0.2, number), GATE).outcome is None
    found = decide(blocks(0.2), GATE)
    assert (found.outcome, found.blocks) == (Outcome.REGRESSED, PLAIN)


def test_a_suspicion_that_fresh_blocks_do_not_confirm_is_dropped():
    suspected, harmless = blocks(0.2, LOOKS[0]), blocks(0.0)
    assert decide(suspected + harmless[:LEAST_FRESH], GATE).outcome is None
    assert decide(suspected + harmless, GATE).outcome is Outcome.UNCHANGED


def test_a_decision_rests_on_the_blocks_up_to_its_look_and_not_on_later_ones():
    found = decide(blocks(0.0), GATE)
    assert found.blocks == LOOKS[0]
    assert found == decide(blocks(0.0, LOOKS[0]), GATE)


def test_a_change_at_the_threshold_stays_inconclusive_and_says_what_could_have_been_detected():
    found = decide(blocks(GATE.threshold, spread=NOISY), GATE)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert not found.out_of_time
    assert found.detectable is not None
    assert GATE.threshold < found.detectable < 2 * GATE.threshold


def test_an_exhausted_budget_is_inconclusive_while_the_interval_holds_the_threshold():
    few = blocks(0.04, BETWEEN_LOOKS, spread=NOISY)
    assert decide(few, GATE).outcome is None
    found = decide(few, GATE, exhausted=True)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.out_of_time
    assert found.interval is not None
    assert found.interval.low < GATE.threshold < found.interval.high
    assert found.detectable is not None


def test_an_exhausted_budget_still_passes_what_is_clear():
    assert decide(blocks(0.0, LEAST_BLOCKS), GATE, exhausted=True).outcome is Outcome.UNCHANGED
    assert decide(blocks(-0.3, LEAST_BLOCKS), GATE, exhausted=True).outcome is Outcome.IMPROVED


def test_an_exhausted_budget_alone_makes_no_regression_of_a_suspicion():
    many = Gate(GATE.threshold, tests=1000)
    suspected = blocks(0.2, LOOKS[0], NOISY)
    assert decide(suspected + blocks(0.2), many).outcome is Outcome.REGRESSED
    found = decide(suspected, many, exhausted=True)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.interval is not None
    assert found.interval.low > many.threshold


@pytest.mark.parametrize("number", [4, 5])
def test_a_large_regression_is_called_in_a_short_run_and_a_moderate_one_is_not(number: int):
    gate = Gate(GATE.threshold, tests=10)
    large = decide(blocks(1.0, number, NOISY), gate, exhausted=True)
    moderate = decide(blocks(0.1, number, NOISY), gate, exhausted=True)
    assert (large.outcome, large.out_of_time) == (Outcome.REGRESSED, True)
    assert (moderate.outcome, moderate.out_of_time) == (Outcome.INCONCLUSIVE, True)


def test_more_tests_make_the_last_look_stricter():
    few = blocks(0.3, 4, NOISY)
    assert decide(few, Gate(0.05, tests=1), exhausted=True).outcome is Outcome.REGRESSED
    assert decide(few, Gate(0.05, tests=1000), exhausted=True).outcome is Outcome.INCONCLUSIVE


def test_an_exhausted_budget_calls_a_suspicion_that_some_fresh_blocks_confirm():
    number = LOOKS[0] + LEAST_BLOCKS
    assert decide(blocks(0.2, number), GATE, exhausted=True).outcome is Outcome.REGRESSED


def test_a_test_that_passes_early_tells_what_would_have_been_found_with_all_its_blocks():
    passed = decide(blocks(0.0, LOOKS[0], spread=0.01), GATE)
    assert (passed.outcome, passed.blocks) == (Outcome.UNCHANGED, LOOKS[0])
    assert passed.detectable is not None
    assert passed.detectable < 1.2 * GATE.threshold


def test_one_that_was_out_of_time_tells_what_would_have_been_found_with_those_it_had():
    out_of_time = decide(blocks(0.04, BETWEEN_LOOKS, spread=0.01), GATE, exhausted=True)
    assert (out_of_time.outcome, out_of_time.blocks) == (Outcome.INCONCLUSIVE, BETWEEN_LOOKS)
    assert out_of_time.detectable is not None
    assert out_of_time.detectable > 1.5 * GATE.threshold


@pytest.mark.parametrize("spread", [0.01, 0.04])
def test_what_passed_tests_detect_is_called_in_nine_of_ten_runs(spread: float):
    rng = random.Random(1)
    passed = [d for d in (played(rng, 0.0, spread) for _ in range(60)) if d.outcome in WITHIN]
    detectable = statistics.median(d.detectable for d in passed if d.detectable is not None)
    runs = [played(rng, detectable, spread).outcome for _ in range(60)]
    assert runs.count(Outcome.REGRESSED) >= 0.8 * len(runs)  # two errors below nine of ten


def played(rng: random.Random, change: float, spread: float) -> Decision:
    """A test with this change, from its first block to its decision."""
    blocks: list[LogRatios] = []
    while (found := decide(blocks, GATE)).outcome is None:
        drawn = rng.gauss(math.log1p(change), spread)
        blocks.append(LogRatios(drawn, drawn))
    return found


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


@pytest.mark.parametrize(("share", "matters"), [(0.8, False), (-0.8, False), (1.2, True)])
def test_a_disagreement_counts_only_where_it_matters_to_the_verdict(share: float, matters: bool):
    apart = share * MATTERS * GATE.limit
    drawn = [LogRatios(b.typical, b.typical + apart) for b in blocks(0.0)]
    assert by_sums(drawn, GATE) == matters
    assert not by_sums(drawn, Gate(threshold=10 * GATE.threshold))


def test_a_disagreement_within_noise_does_not_count():
    rng = random.Random(1)
    drawn = [LogRatios(b.typical, b.typical + rng.gauss(0.02, 0.2)) for b in blocks(0.0, 12)]
    assert not by_sums(drawn, GATE)


@pytest.mark.parametrize("exhausted", [False, True])
def test_the_interval_is_of_the_statistic_that_raised_the_suspicion(exhausted: bool):
    late = [replace(b, total=b.total + 0.5) for b in blocks(0.2, LEAST_FRESH - exhausted)]
    found = decide(blocks(0.2, LOOKS[0]) + late, GATE, exhausted)
    assert found.outcome is Outcome.REGRESSED
    assert not found.by_sums
    assert found.interval is not None
    assert found.interval.change == pytest.approx(0.2, abs=0.005)


def test_unclear_sums_hold_back_a_pass():
    rng = random.Random(1)
    unclear = [replace(b, total=rng.gauss(0.05, 0.1)) for b in blocks(0.0, LOOKS[0])]
    assert decide(blocks(0.0, LOOKS[0]), GATE).outcome is Outcome.UNCHANGED
    assert decide(unclear, GATE).outcome is None


def test_blocks_after_the_last_look_change_nothing():
    last = LOOKS[-1] + LOOKS[-1] // 2  # with fresh blocks for a suspicion
    close = blocks(0.05, last, NOISY)
    found = decide(close + blocks(0.5), GATE)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert found == decide(close, GATE)


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
def test_only_the_end_of_time_closes_what_is_open(number: int, change: float, seed: int):
    drawn = noisy_ratios(random.Random(seed), number, math.log1p(change), NOISY)
    found, last = decide(drawn, GATE), decide(drawn, GATE, exhausted=True)
    assert last.outcome is not None
    assert last.out_of_time == (found.outcome is None)
    assert not found.out_of_time
    if found.outcome is None:
        assert found.blocks == last.blocks == number
    else:
        assert last == found
        assert found.blocks <= number


@pytest.mark.parametrize(
    ("threshold", "tests", "runs"), [(0.05, 1, 2000), (0.02, 1, 800), (0.05, 100, 1000)]
)
def test_a_change_of_exactly_the_threshold_is_called_no_oftener_than_promised(
    threshold: float, tests: int, runs: int
):
    called = simulate(threshold, Gate(threshold, tests), runs)[Outcome.REGRESSED]
    assert called <= at_most(runs * TEST_LEVEL)


FINE = Gate(0.0001, tests=10)
"""Its threshold is next to nothing, so that unchanged code is what has to be told from."""
LATE, FINE_LATE = LateGate(GATE.threshold), LateGate(FINE.threshold, FINE.tests)


@pytest.mark.parametrize(
    ("gate", "level"),
    [(LATE, LATE.confirm.at_limit), (FINE_LATE, FINE_LATE.confirm.unchanged)],
    ids=["of exactly the threshold", "none"],
)
def test_fresh_blocks_of_a_change_confirm_a_suspicion_no_oftener_than_the_level_says(
    gate: Gate, level: float
):
    rng, runs = random.Random("confirm"), 8000
    suspected = blocks(0.2, gate.looks[0])
    called = 0
    for _ in range(runs):
        fresh = noisy_ratios(rng, LEAST_FRESH, gate.limit, 0.01)
        called += decide(suspected + fresh, gate).outcome is Outcome.REGRESSED
    assert 0 < called <= at_most(runs * level)


@pytest.mark.parametrize(
    ("gate", "level"),
    [(GATE, GATE.last.at_limit), (FINE, FINE.last.unchanged)],
    ids=["of exactly the threshold", "none"],
)
def test_the_last_look_of_a_short_run_errs_no_oftener_than_its_level_says(gate: Gate, level: float):
    rng, runs = random.Random("last"), 12_000
    called = 0
    for _ in range(runs):
        few = noisy_ratios(rng, LEAST_BLOCKS, gate.limit, 0.01)
        called += decide(few, gate, exhausted=True).outcome is Outcome.REGRESSED
    assert 0 < called <= at_most(runs * level)


@pytest.mark.parametrize("change", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("spread", [0.004, 0.015, 0.03])
def test_the_interval_holds_the_change_although_it_stops_where_blocks_agree(
    change: float, spread: float
):
    rng, runs = random.Random(f"{change} {spread}"), 600
    held = 0
    for _ in range(runs):
        drawn = noisy_ratios(rng, MOST_BLOCKS, math.log1p(change), spread)
        interval = decide(drawn, GATE).interval
        assert interval is not None
        held += interval.low <= change <= interval.high
    assert runs - held <= at_most(runs * 0.06)


def test_a_larger_suite_sees_a_change_beyond_the_threshold_no_later():
    small, large = (decide(blocks(0.1, spread=0.01), Gate(0.05, tests)) for tests in (1, 1000))
    assert small.outcome is large.outcome is Outcome.REGRESSED
    assert small.blocks == large.blocks


def test_unchanged_code_is_never_called_slower():
    found = simulate(0.0, GATE, 1000)
    assert found[Outcome.REGRESSED] == found[Outcome.IMPROVED] == 0
    assert found[Outcome.UNCHANGED] >= 940
    assert sum(found[outcome] for outcome in WITHIN) >= 995


def test_a_pass_is_named_by_the_interval_that_is_shown_with_it():
    improved, faster = blocks(-0.076, spread=0.008), blocks(-0.051, spread=0.008)
    for some, outcome in ((improved, Outcome.IMPROVED), (faster, Outcome.FASTER)):
        found = decide(some, GATE)
        assert found.outcome is outcome
        assert found.interval is not None
        assert found.interval.high < 0
        assert (found.interval.high < -GATE.threshold) is (outcome is Outcome.IMPROVED)


def test_a_tenth_of_what_is_allowed_is_no_change_however_sure():
    for change in (-0.004, 0.004):
        assert decide(blocks(change, spread=0.0001), GATE).outcome is Outcome.UNCHANGED


def test_at_the_threshold_it_stops_as_soon_as_more_blocks_would_hardly_tell():
    drawn = noisy_ratios(random.Random(3), MOST_BLOCKS, GATE.limit, 0.02)
    found = decide(drawn, GATE)
    assert (found.outcome, found.out_of_time) == (Outcome.INCONCLUSIVE, False)
    assert HOPE_FROM <= found.blocks < LOOKS[-1]


def test_what_a_few_more_blocks_will_tell_is_not_given_up():
    found = simulate(0.09, GATE, 200, spread=0.04)
    assert found[Outcome.REGRESSED] >= 190


def test_a_partner_that_is_known_badly_is_named_as_what_limits_the_verdict():
    drawn = noisy_ratios(random.Random(3), MOST_BLOCKS, math.log1p(0.136), 0.01)
    gate = Gate(0.10, blur=0.025)
    found = decide(drawn, gate)
    assert (found.outcome, found.blur) == (Outcome.INCONCLUSIVE, gate.blur)
    assert found.blocks == HOPE_FROM
    sharp = decide(drawn, Gate(0.10))
    assert (sharp.outcome, sharp.blur) == (Outcome.REGRESSED, 0.0)


def test_a_noisy_run_is_not_blamed_on_the_partner():
    drawn = noisy_ratios(random.Random(3), 4, 0.0, 0.2)
    found = decide(drawn, Gate(0.10, blur=0.001), exhausted=True)
    assert (found.outcome, found.blur) == (Outcome.INCONCLUSIVE, 0.0)


def test_an_amount_is_neither_slower_nor_faster():
    gate = DifferenceGate(100.0)
    for change in (-50.0, 50.0):
        found = decide([LogRatios(change + k % 2, change + k % 2) for k in range(16)], gate)
        assert found.outcome is Outcome.UNCHANGED


@pytest.mark.parametrize(("threshold", "change"), [(0.05, 0.10), (0.02, 0.04)])
def test_twice_the_threshold_is_caught(threshold: float, change: float):
    assert simulate(change, Gate(threshold), 500)[Outcome.REGRESSED] >= 490


@pytest.mark.parametrize("threshold", [0.01, 0.05, 0.25])
@pytest.mark.parametrize("tests", [1, 10, 1000])
def test_the_tests_of_a_build_share_its_budget_of_false_alarms(threshold: float, tests: int):
    gate = Gate(threshold, tests)
    suspicion = len(gate.looks) * SUSPECT_RATE
    unchanged = suspicion * gate.confirm.unchanged + gate.last.unchanged
    at_limit = suspicion * gate.confirm.at_limit + gate.last.at_limit
    assert tests * unchanged <= BUILD_LEVEL * 1.000001
    assert at_limit <= TEST_LEVEL * 1.000001


@pytest.mark.parametrize("way", ["confirm", "last"])
def test_more_tests_make_it_harder_for_unchanged_code_to_be_called(way: str):
    doubts = [getattr(Gate(0.05, tests), way) for tests in (0, 1, 10, 100, 1000)]
    levels = [doubt.unchanged for doubt in doubts]
    assert levels == sorted(levels, reverse=True)
    assert levels[-1] < levels[0]
    assert len({doubt.at_limit for doubt in doubts}) == 1


def test_a_small_threshold_gets_one_more_look():
    assert Gate(SMALL_THRESHOLD).looks == LOOKS
    assert Gate(SMALL_THRESHOLD * 0.99).looks == (*LOOKS, LATE_LOOK)


@pytest.mark.parametrize(
    ("change", "clear", "blurred"),
    [
        (0.00, Outcome.UNCHANGED, Outcome.INCONCLUSIVE),
        (0.10, Outcome.REGRESSED, Outcome.INCONCLUSIVE),
        (0.50, Outcome.REGRESSED, Outcome.REGRESSED),
    ],
)
def test_blur_takes_away_verdicts_that_no_number_of_blocks_gives_back(
    change: float, clear: Outcome, blurred: Outcome
):
    gate = Gate(0.05, blur=0.03)
    assert decide(blocks(change), GATE).outcome is clear
    assert decide(blocks(change), gate).outcome is blurred


@examples
@example(change=0.1, blur=0.0237)
@given(change=st.floats(0.1, 1.0), blur=st.floats(0.001, 0.1))
def test_what_is_called_against_a_blurred_baseline_lies_wholly_above_the_threshold(
    change: float, blur: float
):
    decision = decide(blocks(change), Gate(0.05, blur=blur))
    assert decision.interval is not None
    assert decision.outcome is not Outcome.REGRESSED or decision.interval.low > 0.05


@examples
@given(threshold=st.floats(0.001, 1.0), blur=st.floats(0.001, 0.1), tests=st.integers(1, 1000))
def test_unchanged_code_is_called_for_its_blur_in_no_more_builds_than_allowed(
    threshold: float, blur: float, tests: int
):
    gate = Gate(threshold, tests, blur)
    off_by = NormalDist(0.0, blur).inv_cdf(1 - BUILD_LEVEL / 2 / tests)
    assert not gate.exceeded(Estimate(0.999 * off_by, 0.0, 100, blur), gate.confirm)


def test_blur_raises_what_can_be_detected():
    few = blocks(0.0, LOOKS[0])
    sharp, blurred = (decide(few, Gate(0.05, blur=b), exhausted=True) for b in (0.0, 0.02))
    assert sharp.detectable is not None
    assert blurred.detectable is not None
    assert blurred.detectable > sharp.detectable + 0.02
