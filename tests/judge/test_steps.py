"""Steps are found where they are, named with the commits that enclose them, and not on slopes."""

import builtins
import random
from typing import Any

import pytest

from pytest_rlperf.judge.steps import find_steps


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
