"""Which change comes next, and when there is enough."""

from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.model.proof import Goal
from pytest_rlperf.prove.cases import CASES, Case, expected_s, goals, next_goal
from tests.factories import a_trial, examples


def test_goals_count_the_verdicts_on_each_change():
    trials = [a_trial(), a_trial(injected=0.1), a_trial(injected=0.2)]
    assert goals([Case(0.0, 10), Case(0.1, 5)], trials) == (Goal(0.0, 1, 10), Goal(0.1, 1, 5))


def test_the_change_with_the_smallest_share_comes_next():
    assert next_goal([Goal(0.0, 3, 10), Goal(0.1, 1, 5)]) == Goal(0.1, 1, 5)
    assert next_goal([Goal(0.0, 1, 10), Goal(0.1, 1, 5)]) == Goal(0.0, 1, 10)


def test_one_that_has_all_of_its_verdicts_does_not_come_again():
    assert next_goal([Goal(0.0, 12, 10), Goal(0.1, 4, 5)]) == Goal(0.1, 4, 5)
    assert next_goal([Goal(0.0, 12, 10), Goal(0.1, 5, 5)]) is None
    assert next_goal([Goal(0.0, 0, 0)]) is None


def test_a_first_run_sees_unchanged_code_then_the_clearest_change():
    first = next_goal(goals(CASES, []))
    second = next_goal(goals(CASES, [a_trial()]))
    assert first
    assert second
    assert (first.injected, second.injected) == (0.0, 0.1)


@examples
@given(st.integers(1, 40))
def test_turns_keep_the_shares_even(tests: int):
    """Whatever number of verdicts a round gives."""
    done = dict.fromkeys((case.injected for case in CASES), 0)
    for _ in range(30):
        goal = next_goal([Goal(c.injected, done[c.injected], c.wanted) for c in CASES])
        if goal is None:
            break
        done[goal.injected] += tests
    shares = [done[case.injected] / case.wanted for case in CASES]
    assert max(shares) - min(shares) <= tests / min(case.wanted for case in CASES)


def test_a_round_should_take_what_earlier_ones_of_the_same_change_took():
    goal = Goal(0.1, 1, 5)
    other, same = a_trial(seconds=2.0), a_trial(injected=0.1, seconds=5.0)
    assert expected_s(goal, [other, same], tests=3) == 15.0
    assert expected_s(goal, [other], tests=3) == 6.0
    assert expected_s(goal, [], tests=3) == 0.0
