"""Points that are far off alone are moved; a level that stays is none of them."""

import random

import pytest

from pytest_rlperf.judge.taming import spread, tamed


def noise(number: int, seed: int = 1) -> list[float]:
    rng = random.Random(seed)
    return [rng.gauss(0, 0.02) for _ in range(number)]


def test_a_run_that_was_off_is_moved_to_its_neighbours():
    levels = noise(20)
    levels[7] = 0.5
    assert max(tamed(levels)) < 0.1


def test_a_step_stays():
    levels = [*noise(10), *(0.3 + level for level in noise(10, seed=2))]
    after = tamed(levels)
    assert min(after[10:]) > 0.2
    assert max(after[:10]) < 0.1


def test_the_spread_does_not_see_a_step():
    levels = [*noise(200), *(0.3 + level for level in noise(200, seed=2))]
    assert spread(levels) == pytest.approx(0.02, rel=0.2)


@pytest.mark.parametrize("levels", [[], [1.0], [1.0, 2.0]])
def test_few_points_are_left_alone(levels: list[float]):
    assert tamed(levels) == levels
