"""The sequential test over seeds, against simulated truth."""

import math
import random
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.learning.bets import (
    LearningGate,
    SeedLoss,
    decide,
    interval_of,
    least_pairs,
    log_wealth,
    outcome_of,
    wealth_path,
)
from pytest_rlperf.model.learning import LEAST_SEEDS
from pytest_rlperf.model.metric import Outcome

Draw = Callable[[random.Random], float]
MOST = 32


def cartpole(solved: float) -> Draw:
    """Returns of two humps: a seed solves the task, or stays somewhere below."""
    return lambda rng: 500.0 if rng.random() < solved else rng.uniform(100.0, 450.0)


def between(head: Draw, base: Draw, scale: float = 1.0) -> Draw:
    return lambda rng: (base(rng) - head(rng)) / scale


ALIKE = {
    "normal": lambda rng: rng.gauss(0, 0.2),
    "heavy tails": lambda rng: 0.05 * math.tan(math.pi * (rng.random() - 0.5)),
    "two humps": between(cartpole(0.8), cartpole(0.8), 450),
    "rare failures": between(lambda rng: rng.random() < 0.9, lambda rng: rng.random() < 0.9),
    "hardly any spread": lambda rng: rng.gauss(0, 0.001),
}
WORSE = {
    "a third less, normal": lambda rng: rng.gauss(0.33, 0.2),
    "nothing is learned": lambda rng: rng.gauss(0.9, 0.1),
    "heavy tails": lambda rng: 0.35 + 0.05 * math.tan(math.pi * (rng.random() - 0.5)),
    "solved by two in ten, not by nine": between(cartpole(0.2), cartpole(0.9), 450),
}


def shares(losses: Iterable[float]) -> list[SeedLoss]:
    """Differences, where the base learns 1 with every seed."""
    return [SeedLoss(loss, 1.0) for loss in losses]


def decided(draw: Draw, rng: random.Random, gate: LearningGate) -> tuple[Outcome, int]:
    """Look after every pair, and stop as soon as it is clear."""
    return stopped(lambda: SeedLoss(draw(rng), 1.0), gate)


def stopped(pair: Callable[[], SeedLoss], gate: LearningGate) -> tuple[Outcome, int]:
    differences: list[SeedLoss] = []
    while len(differences) < MOST:
        differences.append(pair())
        if outcome := outcome_of(differences, gate):
            return outcome, len(differences)
    return Outcome.INCONCLUSIVE, MOST


@pytest.mark.parametrize("name", ALIKE)
def test_bets_against_a_fair_coin_hardly_ever_win(name: str):
    """In 2,000 runs, with a look after every pair: at most a, of 1 / a."""
    rng, level = random.Random(7), 0.05
    won = 0
    for _ in range(2000):
        differences = [ALIKE[name](rng) for _ in range(24)]
        won += max(wealth_path(differences)) >= -math.log(level)
    assert won <= 2000 * level + 2 * math.sqrt(2000 * level)


@pytest.mark.parametrize("name", ALIKE)
def test_what_learns_alike_is_not_called_worse(name: str):
    rng, gate = random.Random(1), LearningGate(0.10)
    outcomes = [decided(ALIKE[name], rng, gate)[0] for _ in range(100)]
    assert outcomes.count(Outcome.REGRESSED) <= 3  # 1 is expected at most


@pytest.mark.parametrize("name", WORSE)
def test_what_learns_much_less_is_called(name: str):
    rng, gate = random.Random(2), LearningGate(0.10)
    outcomes = [decided(WORSE[name], rng, gate)[0] for _ in range(40)]
    assert outcomes.count(Outcome.REGRESSED) >= 32
    assert Outcome.UNCHANGED not in outcomes


def test_who_learns_nothing_any_more_is_called_by_ten_seeds():
    rng = random.Random(3)
    seeds = [decided(WORSE["nothing is learned"], rng, LearningGate(0.10))[1] for _ in range(20)]
    assert max(seeds) <= 10


def test_more_tests_of_a_build_want_more_evidence_of_each():
    differences = shares([0.9] * 9)
    assert decide(differences, LearningGate(0.10), False).outcome is Outcome.REGRESSED
    assert decide(differences, LearningGate(0.10, tests=100), False).outcome is None


@pytest.mark.parametrize("tests", [1, 20, 500])
def test_the_fewest_seeds_that_can_be_called_are_called_where_all_lose_the_same(tests: int):
    gate = LearningGate(0.10, tests)
    least = least_pairs(gate)
    assert decide(shares([1.0] * least), gate, False).outcome is Outcome.REGRESSED
    assert decide(shares([1.0] * (least - 1)), gate, False).outcome is None


def test_the_shown_interval_agrees_with_the_outcome():
    rng, gate = random.Random(4), LearningGate(0.10)
    for centre in (-0.5, -0.2, 0.0, 0.05, 0.2, 0.5):
        differences: list[float] = []
        decision = decide(shares(differences), gate, False)
        while decision.outcome is None:
            differences.append(rng.gauss(centre, 0.15))
            decision = decide(shares(differences), gate, len(differences) == MOST)
        interval = decision.interval
        assert interval is not None
        match decision.outcome:
            case Outcome.REGRESSED:
                assert interval.low >= 0.10 - 1e-6
            case Outcome.UNCHANGED:
                assert interval.high <= 0.10 + 1e-6
            case Outcome.IMPROVED:
                assert interval.high <= -0.10 + 1e-6


def test_intervals_hold_the_truth_though_one_stops_when_sure():
    rng, gate, held = random.Random(5), LearningGate(0.10), 0
    for _ in range(100):
        differences: list[SeedLoss] = []
        while len(differences) < MOST and outcome_of(differences, gate) is None:
            differences.append(SeedLoss(rng.gauss(0.15, 0.15), 1.0))
        interval = interval_of(differences)
        assert interval is not None
        held += interval.low <= 0.15 <= interval.high
    assert held >= 92  # 95 are expected at least


def test_few_seeds_decide_nothing():
    assert decide(shares([0.9] * (LEAST_SEEDS - 1)), LearningGate(0.10), False).outcome is None
    last = decide(shares([0.9] * (LEAST_SEEDS - 1)), LearningGate(0.10), True)
    assert last.outcome is Outcome.INCONCLUSIVE


Differences = st.lists(st.floats(-5, 5).map(lambda x: round(x, 6)), min_size=1, max_size=40)


@given(Differences)
def test_wealth_depends_on_no_scale_and_mirrors_at_zero(differences: list[float]):
    there, back = (log_wealth([sign * x for x in differences]) for sign in (1, -1))
    assert log_wealth([1000 * x for x in differences]) == pytest.approx(there, abs=1e-6)
    assert there + back <= 1e-9 or there * back <= 0  # nobody wins on both sides


@given(Differences)
def test_an_interval_holds_its_mean(differences: list[float]):
    interval = interval_of(shares(differences))
    assert interval is None or interval.low <= interval.change <= interval.high


def test_few_seeds_have_no_interval():
    assert interval_of(shares([0.1, 0.2, 0.3])) is None


@given(Differences, st.floats(0.01, 100))
def test_the_unit_of_differences_does_not_matter(losses: list[float], unit: float):
    gate = LearningGate(0.10)
    there = [SeedLoss(loss, 2.0 + loss / 10) for loss in losses]
    again = [SeedLoss(unit * each.loss, unit * each.learned) for each in there]
    assert decide(again, gate, True).outcome is decide(there, gate, True).outcome


def test_a_head_that_always_learns_the_allowed_share_less_is_hardly_ever_called():
    """Each seed has a scale of its own, and the mean of the base is nowhere known: 400 runs each
    way, of which 2.5 % may be called, and as many pass.
    """
    rng, gate = random.Random(6), LearningGate(0.10)

    def pair() -> SeedLoss:
        base, other = (rng.lognormvariate(5, 0.5) for _ in range(2))
        return SeedLoss(base - 0.9 * other, base)

    outcomes = [stopped(pair, gate)[0] for _ in range(400)]
    assert outcomes.count(Outcome.REGRESSED) <= 18  # 10, and 2.6 standard deviations
    assert outcomes.count(Outcome.UNCHANGED) <= 18
