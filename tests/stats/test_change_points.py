"""Steps are found where they are, named with the commits that enclose them, and not on slopes."""

import builtins
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.stats.change_points import find_steps, line_through, spread, squares, tamed
from tests.factories import examples


def around(rng: random.Random, *levels: tuple[float, int], spread: float = 0.02) -> list[float]:
    """Points around each level, so many."""
    return [rng.gauss(level, spread) for level, number in levels for _ in range(number)]


def found(levels: list[float], series: int = 1) -> Any:
    steps = find_steps(levels, series)
    assert steps is not None
    return steps


def test_a_step_is_found_with_its_place_and_its_height():
    (step,) = found(around(random.Random(1), (0.0, 12), (0.15, 8)))
    assert step.index == 12
    assert step.earliest <= 12 <= step.latest
    assert step.change.low < 0.162 < step.change.high


def test_up_and_down_again_are_two():
    steps = found(around(random.Random(2), (0.0, 10), (0.2, 8), (0.0, 10)))
    assert [step.index for step in steps] == [10, 18]
    assert steps[0].change.change > 0 > steps[1].change.change


def test_a_slope_is_no_step():
    rng = random.Random(3)
    levels = [0.01 * number + rng.gauss(0, 0.02) for number in range(30)]
    assert found(levels) == []


def test_sizes_that_repeat_exactly_show_every_step_that_matters():
    assert [step.index for step in found([0.0] * 6 + [0.05] * 4)] == [6]
    assert found([0.0] * 6 + [0.01] * 4) == []


def test_three_points_on_the_new_level_are_needed():
    levels = [0.0] * 6 + [0.5] * 2
    assert found(levels) == []
    assert [step.index for step in found([*levels, 0.5])] == [6]


@pytest.mark.parametrize("number", range(6))
def test_fewer_than_six_points_have_no_step(number: int):
    assert found([0.0, 0.5, 0.5, 0.5, 0.5, 0.5][:number]) == []


def test_more_series_need_more_evidence():
    levels = around(random.Random(5), (0.0, 6), (0.06, 4))
    assert len(found(levels, series=1)) == 1
    assert found(levels, series=10_000) == []


def test_the_places_of_a_faint_step_enclose_the_true_one():
    missed = seen = 0
    for seed in range(60):
        for step in found(around(random.Random(seed), (0.0, 20), (0.05, 20))):
            seen += 1
            missed += not step.earliest <= 20 <= step.latest
    assert seen > 40
    assert missed <= 2


def test_without_ruptures_nothing_is_looked_for(monkeypatch: pytest.MonkeyPatch):
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "ruptures":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    assert find_steps([0.0] * 6 + [0.5] * 4, 1) is None


# -- points that are far off alone are moved; a level that stays is none of them ----------------


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


# -- lines and means, against numpy -------------------------------------------------------------


VALUES = st.lists(st.floats(-10, 10), min_size=3, max_size=30)


@examples
@given(VALUES)
def test_slope_and_error_are_those_of_numpy(values: list[float]):
    line = line_through(values)
    x = np.arange(len(values))
    slope, intercept = np.polyfit(x, values, 1)
    left = float(((np.asarray(values) - slope * x - intercept) ** 2).sum())
    assert line.slope == pytest.approx(slope, abs=1e-9)
    assert line.squares == pytest.approx(left, abs=1e-6)
    error = (left / (len(values) - 2) / ((x - x.mean()) ** 2).sum()) ** 0.5
    assert line.error == pytest.approx(error, abs=1e-4)
    assert line.freedom == len(values) - 2


@examples
@given(VALUES)
def test_a_line_never_leaves_more_than_a_mean(values: list[float]):
    assert line_through(values).squares <= squares(values) + 1e-9


def test_two_points_have_no_error():
    with pytest.raises(ValueError, match="needs at least 3 points, not 2"):
        line_through([1.0, 2.0])
