"""How often the gate is wrong on returns of real agents."""

import pytest

from pytest_rlperf.model.metric import Outcome
from tests.learning.real_rates import (
    NAMES,
    THRESHOLD,
    fails_in,
    late,
    less_by,
    main,
    outcomes,
    same,
)

STEADY = ("test_a_table_learns[compiled]", "test_a_table_learns[list]")


@pytest.mark.parametrize("name", NAMES)
def test_other_draws_of_the_same_skill_are_hardly_ever_called_worse(name: str):
    assert outcomes(name, same, runs=150)[Outcome.REGRESSED] <= 3  # 1 % at most: 1.5


@pytest.mark.parametrize("name", NAMES)
def test_a_loss_of_what_is_allowed_is_seldom_called_and_seldom_passes(name: str):
    said = outcomes(name, less_by(THRESHOLD), runs=150)
    assert said[Outcome.REGRESSED] <= 9  # 2.5 % at most: 3.75, and 2.7 standard deviations
    assert said[Outcome.UNCHANGED] <= 9


@pytest.mark.parametrize("name", NAMES)
def test_a_loss_of_thirty_percent_is_called(name: str):
    said = outcomes(name, less_by(0.3), runs=40)
    assert said[Outcome.REGRESSED] >= 36
    assert not said[Outcome.UNCHANGED]


@pytest.mark.parametrize("name", ["test_sac_learns", *STEADY])
def test_who_learns_half_as_fast_is_called(name: str):
    """PPO loses a fifth by it, and DQN have learned what they learn by the first quarter."""
    assert outcomes(name, late, runs=40)[Outcome.REGRESSED] >= 38


@pytest.mark.parametrize("name", NAMES)
def test_seeds_of_which_a_third_fail_are_often_called_and_seldom_pass(name: str):
    said = outcomes(name, fails_in(1 / 3), runs=40)
    assert said[Outcome.REGRESSED] >= 14
    assert said[Outcome.UNCHANGED] <= 6


@pytest.mark.parametrize("name", NAMES)
def test_seeds_of_which_half_fail_are_called_though_the_others_learn_as_before(name: str):
    said = outcomes(name, fails_in(0.5), runs=40)
    assert said[Outcome.REGRESSED] >= 36
    assert said[Outcome.UNCHANGED] <= 2


def test_the_table_has_a_row_a_change(capsys: pytest.CaptureFixture[str]):
    main(runs=1)
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].startswith("| other draws | 0 of 6 |")
    assert len(rows) == 6
