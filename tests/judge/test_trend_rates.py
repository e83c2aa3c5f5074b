"""How often trends are right and wrong, on fixed seeds; docs/trends.md has more histories."""

import pytest

from tests.judge.trend_rates import ONE_EACH, SIGNALS, STEP, UNCHANGED, rates

FEW = 25


@pytest.mark.parametrize("signal", SIGNALS)
def test_unchanged_code_is_left_alone(signal: str):
    found = rates(SIGNALS[signal], UNCHANGED, FEW, seed=1)
    assert (found.changes, found.creeps) == (0.0, 0.0)


@pytest.mark.parametrize("signal", SIGNALS)
def test_one_percent_a_commit_is_caught(signal: str):
    found = rates(SIGNALS[signal], ONE_EACH, FEW, seed=1)
    assert found.creeps >= 0.9


@pytest.mark.parametrize("signal", SIGNALS)
def test_ten_percent_at_once_is_caught_at_its_commit(signal: str):
    found = rates(SIGNALS[signal], STEP, FEW, seed=1)
    assert found.changes >= 0.95
    assert found.wrong_place <= 0.05
