"""What `train(seed)` may return, and what becomes of one that fails."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from pytest_rlperf.errors import FixtureError
from pytest_rlperf.learning.training import DivergedError, curves_of, failed, trained


@pytest.mark.parametrize(
    ("returned", "curve"),
    [
        (7, ((0.0, 7.0),)),
        (np.float32(0.5), ((0.0, 0.5),)),
        (np.array(2.0), ((0.0, 2.0),)),
        ([(10, 1), (20, 3.5)], ((10.0, 1.0), (20.0, 3.5))),
        (np.array([[10, 1.0], [20, 3.0]]), ((10.0, 1.0), (20.0, 3.0))),
        (((s, s * s) for s in (1, 2)), ((1.0, 1.0), (2.0, 4.0))),
    ],
)
def test_a_return_or_a_curve(returned: object, curve: object):
    assert curves_of(returned) == {"": curve}


def test_several_tasks():
    assert curves_of({"pole": 1, "car": [(1, 2)]}) == {"pole": ((0.0, 1.0),), "car": ((1.0, 2.0),)}


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (None, "train(seed) returned NoneType; return the final return as a number"),
        ("480", "train(seed) returned str"),
        (True, "train(seed) returned bool"),
        ({}, "an empty mapping"),
        ([], "an empty curve"),
        ([1, 2, 3], "a sequence that holds no pairs"),
        ([(1, "a")], "something else than numbers"),
        ([(2, 1), (1, 1)], "whose steps do not increase; sort them"),
        ([(s, 0) for s in range(10_001)], "a curve of 10001 points, and 10000 are the most"),
    ],
)
def test_what_cannot_be_judged_is_refused(returned: object, sentence: str):
    with pytest.raises(FixtureError) as error:
        curves_of(returned)
    assert sentence in str(error.value)


def test_a_return_that_is_no_number_has_diverged():
    with pytest.raises(DivergedError, match="its return is nan"):
        curves_of([(1, 2.0), (2, float("nan"))])


def test_a_return_beyond_all_bounds_has_diverged_and_tells_no_frames_of_ours():
    with pytest.raises(DivergedError) as error:
        trained(lambda seed: 1e308, 0)
    assert failed(0, error.value).failure == "the training has diverged: its return is 1e+308"


def test_a_generator_trains_while_its_points_are_asked_for():
    def train(seed: int) -> Iterator[tuple[int, float]]:
        for steps in (10, 20):
            yield steps, random.random()

    one, again = (trained(train, 3)[0].curves[""] for _ in range(2))
    assert one == again
    assert [steps for steps, _ in one] == [10, 20]


def test_generators_that_nobody_seeds_are_seeded():
    def draws(_seed: int) -> list[tuple[float, float]]:
        return [(1, random.random()), (2, float(np.random.random()))]

    one, again, other = (trained(draws, seed)[0].curves for seed in (3, 3, 4))
    assert one == again != other


def test_a_coroutine_function_is_awaited():
    async def train(seed: int) -> int:
        return seed

    training, result = trained(train, 5)
    assert (training.curves, result) == ({"": ((0.0, 5.0),)}, 5)


def test_a_failed_training_tells_its_own_frames_alone():
    def train(seed: int) -> float:
        return 1 / seed

    try:
        trained(train, 0)
    except ZeroDivisionError as error:
        training = failed(0, error)
    assert training.failure is not None
    assert training.failure.endswith("ZeroDivisionError: division by zero")
    assert "return 1 / seed" in training.failure
    assert "pytest_rlperf/learning/training.py" not in training.failure
