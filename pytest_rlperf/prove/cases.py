"""Which change is played next, and how often each shall be."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from pytest_rlperf.gate.partners import Partner
from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.machine.fingerprint import comparable
from pytest_rlperf.model.metric import COMPARED
from pytest_rlperf.model.result import Goal, TestResult, Trial


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


# What counts as a verdict of the gate, and which of the earlier ones are of the same kind.


@dataclass(frozen=True, slots=True)
class VerdictKind:
    """What two verdicts on a test must share to be counted together. The code under test is not in
    it: a side that is compared with itself is right about any code.
    """

    source_hash: str
    threshold: float
    facts: Mapping[str, Any]

    def holds(self, trial: Trial) -> bool:
        return (trial.source_hash, trial.threshold, trial.facts) == (
            self.source_hash,
            self.threshold,
            self.facts,
        )


def kinds_of(
    benchmarks: Sequence[Benchmark], partner: Partner, fingerprint: Mapping[str, Any]
) -> dict[str, VerdictKind]:
    return {
        b.nodeid: VerdictKind(
            b.source_hash,
            partner.gate(b.nodeid, b.spec, len(benchmarks)).threshold,
            _facts(fingerprint, b.spec.threads),
        )
        for b in benchmarks
    }


def _facts(fingerprint: Mapping[str, Any], threads: int) -> dict[str, Any]:
    return {
        **comparable(fingerprint, threads),
        "pinned": bool(fingerprint["pinned_to"]),
        "pytest-rlperf": fingerprint["libraries"].get("pytest-rlperf"),
    }


def counting(trials: Sequence[Trial], kinds: Mapping[str, VerdictKind]) -> list[Trial]:
    return [t for t in trials if t.nodeid in kinds and kinds[t.nodeid].holds(t)]


def is_verdict(test: TestResult) -> bool:
    """Not of a test that failed, or for which there was no time at all."""
    return test.headline.outcome in COMPARED and test.headline.interval is not None
