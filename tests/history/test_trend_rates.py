"""How often trends are right and wrong, on fixed seeds; docs/trends.md has more histories."""

import pytest

from tests.history.trend_rates import Case, cases, rates

FEW = 25
CASES = list(cases())


def named(case: Case) -> str:
    return f"{case.signal}, {case.truth}, {case.suite}"


def of(truth: str) -> list[Case]:
    return [case for case in CASES if case.truth == truth]


@pytest.mark.parametrize("case", of("unchanged"), ids=named)
def test_unchanged_code_is_left_alone(case: Case):
    """Of a build, 1 % may be called; so a test alone may be called more often than one of many."""
    found = rates(case, FEW, seed=1)
    at_most = 1 / FEW if case.suite == 1 else 0.0
    assert max(found.changes, found.creeps) <= at_most


@pytest.mark.parametrize("case", of("+1 % a commit"), ids=named)
def test_one_percent_a_commit_is_caught(case: Case):
    assert rates(case, FEW, seed=1).creeps >= 0.9


@pytest.mark.parametrize("case", of("+10 % at once"), ids=named)
def test_ten_percent_at_once_is_caught_at_its_commit(case: Case):
    found = rates(case, FEW, seed=1)
    assert found.changes >= 0.95
    assert found.wrong_place <= 0.05
