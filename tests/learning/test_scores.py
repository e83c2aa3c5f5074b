"""From curves to one number a seed, and to the difference that is judged."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.learning.bets import SeedLoss, loss_of
from pytest_rlperf.learning.scores import (
    TaskScores,
    bootstrap,
    differences_of,
    interquartile_mean,
    scored,
)
from pytest_rlperf.model.learning import Curve, LearningMetric, LearningSpec, Training


def side(*curves: Curve | float | None) -> list[Training]:
    """Trainings with these curves or returns; None: it has failed."""
    return [
        Training(seed, failure="boom")
        if curve is None
        else Training(seed, {"": ((0.0, curve),) if isinstance(curve, float) else curve})
        for seed, curve in enumerate(curves)
    ]


def of(head: list[Training], base: list[Training], **spec: Any) -> TaskScores:
    return scored(head, base, LearningSpec(**spec))[""]


def lost(scores: TaskScores) -> float:
    """The share of what the base learned."""
    return loss_of(list(map(SeedLoss, scores.losses, scores.learned)))


RISING: Curve = ((0, 0.0), (10, 100.0), (20, 100.0))


def test_the_final_return_is_a_share_of_what_the_base_learns():
    scores = of(side(90.0, 80.0), side(100.0, 50.0))
    assert (scores.losses, scores.learned) == ((10.0, -30.0), (100.0, 50.0))
    assert lost(scores) == pytest.approx(-20 / 150)


def test_returns_below_zero_count_from_the_worst():
    head, base = (side(((0, -1000.0), (9, end))) for end in (-400.0, -200.0))
    assert lost(of(head, base)) == pytest.approx(0.25)
    assert lost(of(head, base, worst=-2200.0)) == pytest.approx(0.1)


def test_the_area_sees_who_learns_later():
    late: Curve = ((0, 0.0), (10, 0.0), (20, 100.0))
    scores = of(side(late), side(RISING), metric=LearningMetric.AREA)
    assert (scores.head, scores.base) == ((25.0,), (75.0,))
    assert lost(of(side(late), side(RISING))) == 0.0


def test_steps_to_a_goal_are_better_when_few():
    late: Curve = ((0, 0.0), (10, 0.0), (20, 100.0))
    scores = of(side(late), side(RISING), metric=LearningMetric.STEPS, goal=100.0)
    assert (scores.head, scores.base, scores.losses) == ((20,), (10,), (10,))
    assert lost(scores) == 1.0


def test_who_never_gets_there_took_all_steps():
    never: Curve = ((0, 0.0), (50, 1.0))
    scores = of(side(never, None), side(RISING, RISING), metric=LearningMetric.STEPS, goal=100.0)
    assert scores.head == (50.0, 50.0)


def test_solved_is_a_share_of_the_seeds():
    scores = of(side(90.0, 500.0, None), side(*[500.0] * 3), metric=LearningMetric.SOLVED, goal=450)
    assert scores.head == (0.0, 1.0, 0.0)
    assert scores.losses == (1.0, 0.0, 1.0)
    assert scores.learned == (1.0, 1.0, 1.0)


def test_a_failed_seed_is_the_worst_that_was_seen():
    head = side(None, ((0, -500.0), (9, -100.0)), None)
    base = side(*[((0, -450.0), (9, -100.0))] * 3)
    assert of(head, base).head == (-450.0, -100.0, -500.0)


def test_of_several_tasks_each_counts_on_its_own_scale():
    head = [Training(0, {"pole": ((0, 250.0),), "car": ((0, 0.5),)})]
    base = [Training(0, {"pole": ((0, 500.0),), "car": ((0, 0.5),)})]
    differences = differences_of(scored(head, base, LearningSpec()))
    assert differences == (SeedLoss(0.25, 1.0),)


def test_a_task_that_only_head_has_is_not_judged_and_one_that_it_lost_counts_as_nothing():
    head = [Training(0, {"new": ((0, 9.0),), "pole": ((0, 500.0),)})]
    base = [Training(0, {"pole": ((0, 500.0),), "car": ((0, 0.5),)})]
    assert differences_of(scored(head, base, LearningSpec())) == (SeedLoss(0.5, 1.0),)


Pairs = st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(1, 1e3)), min_size=7, max_size=12)


@given(Pairs, Pairs)
def test_no_difference_changes_with_the_pairs_after_it(
    pole: list[tuple[float, float]], car: list[tuple[float, float]]
):
    """Or bets that were made would be made anew, with knowledge of how they ended."""
    head, base = (
        [
            Training(seed, {"pole": ((0.0, p[i]),), "car": ((0.0, c[i]),)})
            for seed, (p, c) in enumerate(zip(pole, car, strict=False))
        ]
        for i in (0, 1)
    )
    known = [
        differences_of(scored(head[:number], base[:number], LearningSpec(worst=-1e3)))
        for number in range(6, len(head) + 1)
    ]
    last = known[-1]
    assert last is not None
    assert all(earlier == last[: len(earlier)] for earlier in known if earlier)


def test_what_the_base_does_not_learn_cannot_be_lost():
    flat = side(*[((0, -200.0), (9, -200.0))] * 2)
    assert differences_of(scored(flat, flat, LearningSpec())) is None


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(1, 1e6)), min_size=1, max_size=10),
)
def test_sides_that_change_places_change_the_sign(returns: list[tuple[float, float]]):
    head, base = (side(*values) for values in zip(*returns, strict=True))
    there = of(head, base, metric=LearningMetric.SOLVED, goal=10.0)
    back = of(base, head, metric=LearningMetric.SOLVED, goal=10.0)
    assert there.losses == tuple(-x for x in back.losses)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_an_interquartile_mean_lies_among_the_middle_half(values: list[float]):
    ordered, cut = sorted(values), len(values) // 4
    middle = ordered[cut : len(values) - cut]
    mean = interquartile_mean(values)
    assert middle[0] - 1e-6 <= mean <= middle[-1] + 1e-6


def test_a_bootstrap_is_narrower_with_more_seeds():
    few, many = ([math.sin(n) for n in range(number)] for number in (8, 64))
    widths = [high - low for low, high in map(bootstrap, (few, many))]
    assert 0 < widths[1] < widths[0] / 2
