"""Bisection over made-up histories, in which one commit is the first slow one."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.commands.bisect import MOST_HALFWAY, Answer, Duets, halfway, search
from pytest_rlperf.model.quantity import parse_fraction
from tests.factories import examples


class Line:
    """Commits 1 to n in a row; 0 is good, n is bad."""

    def __init__(self, n: int) -> None:
        self.bad = str(n)
        self.asked: list[str] = []

    def halving(self, fast: Sequence[str], slow: str) -> list[str]:
        first = max((int(commit) for commit in fast), default=0)
        between = range(first + 1, int(slow))
        middle = (first + int(slow)) / 2
        return [str(commit) for commit in sorted(between, key=lambda c: abs(c - middle))]


def judged(line: Line, first_slow: int, broken: frozenset[int] = frozenset()):
    def judge(commit: str) -> Answer:
        line.asked.append(commit)
        if int(commit) in broken:
            return Answer.SKIP
        return Answer.SLOW if int(commit) >= first_slow else Answer.FAST

    return judge


@examples
@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))))
def test_the_first_slow_commit_is_found_in_few_duets(history: tuple[int, int]):
    n, first_slow = history
    line = Line(n)
    found = search(line, judged(line, first_slow))
    assert (found.first_slow, found.suspects) == (str(first_slow), ())
    assert len(line.asked) <= math.ceil(math.log2(n)) + 1


def test_commits_that_cannot_be_measured_are_passed_over():
    line = Line(16)
    found = search(line, judged(line, first_slow=12, broken=frozenset({8, 9})))
    assert (found.first_slow, found.suspects) == ("12", ())


def test_where_they_border_on_the_slow_one_they_stay_suspects():
    line = Line(8)
    found = search(line, judged(line, first_slow=5, broken=frozenset({4, 5})))
    assert found.first_slow == "6"
    assert set(found.suspects) == {"4", "5"}


@examples
@given(st.sets(st.integers(1, 19)), st.integers(1, 20))
def test_the_culprit_is_always_among_those_named(broken: set[int], first_slow: int):
    line = Line(20)
    found = search(line, judged(line, first_slow, frozenset(broken)))
    assert str(first_slow) in (found.first_slow, *found.suspects)
    assert len(line.asked) == len(set(line.asked))


@pytest.mark.parametrize(
    ("threshold", "change", "least"),
    [(0.05, 0.3, 0.15), (0.05, 0.06, 0.03), (0.05, 10.3, MOST_HALFWAY), (0.05, 30.0, MOST_HALFWAY)],
)
def test_a_commit_is_asked_for_a_change_halfway_that_a_run_accepts(
    threshold: float, change: float, least: float
):
    asked = halfway(threshold, change)
    assert asked == pytest.approx(least)
    words = Duets(Path(), "test.py::test", (), 20).command("base", "head", asked, Path("r.json"))
    (text,) = (word for word in words if word.startswith("--rlperf-threshold="))
    assert parse_fraction(text.partition("=")[2], "threshold") == pytest.approx(asked)
