"""Which change is played next, and how often each shall be."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from pytest_rlperf.model.proof import Goal, Trial


@dataclass(frozen=True, slots=True)
class Case:
    """A change of known size."""

    injected: float
    wanted: int  # verdicts on it, over all tests


CASES = (Case(0.0, 300), Case(0.10, 100), Case(0.05, 100))
"""Without an alarm, 300 verdicts bound the true rate at 1 % (the rule of three: at 3/n), which is
what the gate promises a build; 100 bound what is missed at 3 %.
"""


def goals(cases: Sequence[Case], trials: Sequence[Trial]) -> tuple[Goal, ...]:
    done = Counter(trial.injected for trial in trials)
    return tuple(Goal(case.injected, done[case.injected], case.wanted) for case in cases)


def next_goal(goals: Sequence[Goal]) -> Goal | None:
    """The one with the smallest share of its verdicts; None when each has all of them."""
    still_open = [goal for goal in goals if goal.done < goal.wanted]
    return min(still_open, key=lambda goal: goal.done / goal.wanted, default=None)


def expected_s(goal: Goal, trials: Sequence[Trial], tests: int) -> float:
    """What a round should take, by earlier ones of the same change, else of others; 0: unknown."""
    same = [trial.seconds for trial in trials if trial.injected == goal.injected]
    known = same or [trial.seconds for trial in trials]
    return tests * fmean(known) if known else 0.0
