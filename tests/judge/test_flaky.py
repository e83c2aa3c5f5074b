"""The tests whose verdicts rest on shaky ground, and why."""

from typing import Any

import pytest

from pytest_rlperf.judge.flaky import OWN, SLOWING, STOLEN, flakiest
from pytest_rlperf.model.history import PastTest
from tests.factories import a_past, a_past_metric
from tests.judge.histories import commit_name, dated

STEADY, WIDE = 0.01, 0.04


def runs(name: str, half: float, outcomes: str = "....", **fields: Any) -> list[PastTest]:
    """A dot is a run that was decided, a question mark one that was not."""
    return [
        a_past(
            commit_name(number),
            f"test_a.py::{name}",
            created=dated(number),
            metrics=(
                a_past_metric(
                    change=0.0,
                    low=-half,
                    high=half,
                    threshold=0.05,
                    outcome="unchanged" if outcome == "." else "inconclusive",
                ),
            ),
            **fields,
        )
        for number, outcome in enumerate(outcomes)
    ]


def names(*tests: PastTest) -> list[str]:
    return [found.nodeid.partition("::")[2] for found in flakiest(tests, most=5)]


def test_undecided_ones_come_first_then_the_widest():
    past = [
        *runs("test_steady", STEADY),
        *runs("test_wide", WIDE),
        *runs("test_wider", 2 * WIDE),
        *runs("test_undecided", STEADY, ".?.?"),
    ]
    assert names(*past) == ["test_undecided", "test_wider", "test_wide"]


def test_no_more_are_named_than_asked_for():
    past = [*runs("test_a", WIDE), *runs("test_b", WIDE)]
    assert len(flakiest(past, most=1)) == 1


@pytest.mark.parametrize(
    ("fields", "causes"),
    [
        ({"steal": 0.2}, (STOLEN,)),
        ({"drift": 0.1}, (SLOWING,)),
        ({"steal": 0.2, "drift": 0.1}, (STOLEN, SLOWING)),
        ({"steal": 0.001}, (OWN,)),
        ({}, (OWN,)),
    ],
)
def test_the_cause_is_named(fields: dict[str, Any], causes: tuple[str, ...]):
    (found,) = flakiest(runs("test_a", WIDE, **fields), most=5)
    assert found.causes == causes


def test_numbers_are_those_of_the_typical_run():
    past = [*runs("test_a", WIDE, "...?"), *runs("test_a", 10.0, ".", steal=0.9)]
    (found,) = flakiest(past, most=5)
    assert (found.runs, found.width, found.undecided) == (5, WIDE, 0.2)
    assert found.steal == 0.0


def test_only_the_last_runs_count():
    past = runs("test_a", STEADY, "?" * 5 + "." * 20)
    assert flakiest(past, most=5) == ()
