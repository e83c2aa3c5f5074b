"""Rounds of `--rlperf-prove`: each is a run of the gate that compares the working tree with itself.

It begins with which change is played next, how often each shall be, and which verdicts count.
"""

import datetime
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from pytest_rlperf.gate.budget import Budget
from pytest_rlperf.gate.campaign import Campaign
from pytest_rlperf.gate.partners import Partner, gate_of
from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.machine.fingerprint import comparable
from pytest_rlperf.model.metric import COMPARED, Outcome
from pytest_rlperf.model.result import Facts, Fingerprint, Goal, Progress, Proof, TestResult, Trial
from pytest_rlperf.prove.rates import append, by_case, by_test, false_alarms, missed
from pytest_rlperf.prove.report import render_change
from pytest_rlperf.trees.git import WorkingState
from pytest_rlperf.wire import BASE, HEAD
from pytest_rlperf.workers.blocks import Blocks
from pytest_rlperf.workers.pair import SEED_MAX, Stage

# -- which change is played next, and how often ------------------------------------------------


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
    """Return how many verdicts there are on each case, and how many are wanted."""
    done = Counter(trial.injected for trial in trials)
    return tuple(Goal(case.injected, done[case.injected], case.wanted) for case in cases)


def next_goal(goals: Sequence[Goal]) -> Goal | None:
    """Return the goal with the smallest share of its verdicts; None when each has all of them."""
    still_open = [goal for goal in goals if goal.done < goal.wanted]
    return min(still_open, key=lambda goal: goal.done / goal.wanted, default=None)


def expected_s(goal: Goal, trials: Sequence[Trial], tests: int) -> float:
    """Return what a round should take, by earlier ones of this change or of any; 0: unknown."""
    same = [trial.seconds for trial in trials if trial.injected == goal.injected]
    known = same or [trial.seconds for trial in trials]
    return tests * fmean(known) if known else 0.0


# -- which verdicts count -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class VerdictKind:
    """All that two verdicts on a test must share to be counted together. The code under test is not
    in it: a side that is compared with itself is right about any code.
    """

    source_hash: str
    threshold: float
    facts: Facts

    def holds(self, trial: Trial) -> bool:
        """Return whether a verdict is of this kind."""
        return self == VerdictKind(trial.source_hash, trial.threshold, trial.facts)


def kinds_of(
    benchmarks: Sequence[Benchmark], partner: Partner, fingerprint: Fingerprint
) -> dict[str, VerdictKind]:
    """Return the kind of verdict that each test gets here, by its node id."""
    return {
        b.nodeid: VerdictKind(
            b.source_hash,
            gate_of(partner, b.nodeid, b.spec, len(benchmarks)).threshold,
            _facts(fingerprint, b.spec.threads),
        )
        for b in benchmarks
    }


def _facts(fingerprint: Fingerprint, threads: int) -> Facts:
    return {
        **comparable(fingerprint, threads),
        "pinned": bool(fingerprint["pinned_to"]),
        "pytest-rlperf": fingerprint["libraries"].get("pytest-rlperf"),
    }


def counting(trials: Sequence[Trial], kinds: Mapping[str, VerdictKind]) -> list[Trial]:
    """Return the verdicts of earlier sessions that are of the kind of this one."""
    return [t for t in trials if t.nodeid in kinds and kinds[t.nodeid].holds(t)]


def is_verdict(test: TestResult) -> bool:
    """Return whether the test has a verdict: it did not fail, and there was time for it."""
    return test.headline.outcome in COMPARED and test.headline.interval is not None


# -- playing ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subject:
    """The tests that the gate is proved on."""

    benchmarks: tuple[Benchmark, ...]
    kinds: Mapping[str, VerdictKind]  # by test
    state: WorkingState
    partner: Partner


class ProofRounds:
    """The rounds of one session, added to those of earlier ones."""

    def __init__(
        self,
        subject: Subject,
        stage: Stage,
        *,
        file: Path,
        earlier: Sequence[Trial],
        budget: Budget,
        round_s: float,
        show: Callable[[Progress], None],
        blocks: Callable[[Stage], Blocks] = Blocks,
    ) -> None:
        self._subject = subject
        self._stage = stage
        self._file = file
        self._trials = counting(earlier, subject.kinds)
        self._left_out = len(earlier) - len(self._trials)
        self._budget = budget
        self._round_s = round_s
        self._show = show
        self._blocks = blocks
        self._rng = random.Random(stage.seed)
        self._results: dict[str, TestResult] = {}
        self._number = self._added = 0
        self._kept_at_s = 0.0

    def play(self) -> None:
        """Play until the time is over or enough is known; every verdict is on disk at once."""
        while (goal := next_goal(self._goals())) and self._benchmarks() and self._fits(goal):
            self._number += 1
            self._play(goal)

    def results(self) -> list[TestResult]:
        """Return the last result of each test."""
        return list(self._results.values())

    def proof(self) -> Proof:
        return Proof(
            cases=by_case(self._trials),
            tests=by_test(self._trials),
            goals=self._goals(),
            false_alarms=false_alarms(self._trials),
            missed=missed(self._trials),
            added=self._added,
            left_out=self._left_out,
            file=str(self._file),
            uncounted={t.nodeid: t.headline.reason for t in self.results() if _is_uncounted(t)},
        )

    def _goals(self) -> tuple[Goal, ...]:
        return goals(CASES, self._trials)

    def _benchmarks(self) -> list[Benchmark]:
        """Return the tests of the next round, without those that cannot be judged: they would not
        do better in it. Those with the fewest verdicts come first, since a round may not reach all.
        """
        judged = COMPARED | {Outcome.NOT_MEASURED}
        unfit = {n for n, test in self._results.items() if test.headline.outcome not in judged}
        done = Counter(trial.nodeid for trial in self._trials)
        fit = (b for b in self._subject.benchmarks if b.nodeid not in unfit)
        return sorted(fit, key=lambda b: done[b.nodeid])

    def _fits(self, goal: Goal) -> bool:
        """Return whether a round should end before the time does. The first one is played in any
        case: a run that adds nothing would never come further.
        """
        needed_s = expected_s(goal, self._trials, len(self._benchmarks()))
        return self._number == 0 or self._budget.left_s() > needed_s

    def _play(self, goal: Goal) -> None:
        label = f"round {self._number}, {render_change(goal.injected)}"
        self._kept_at_s = self._budget.elapsed_s()
        stage = against_itself(self._stage, goal.injected, self._rng.randrange(SEED_MAX))
        campaign = Campaign(
            self._benchmarks(),
            self._blocks(stage),
            partner=self._subject.partner,
            budget=self._budget.part(self._round_s),
            cores=len(stage.cores),
            show=lambda progress: self._show_progress(progress, label),
            closed=lambda tests: self._keep(goal, tests),
        )
        try:
            campaign.run()
        finally:  # Ctrl+C too
            for test in campaign.results():
                if test.outcome is not Outcome.NOT_MEASURED or test.nodeid not in self._results:
                    self._results[test.nodeid] = test

    def _keep(self, goal: Goal, tests: Sequence[TestResult]) -> None:
        """Count the verdicts on tests that have just been decided, and write them to the file."""
        now_s = self._budget.elapsed_s()
        seconds = (now_s - self._kept_at_s) / len(tests)
        self._kept_at_s = now_s
        new = [self._trial(goal, test, seconds) for test in tests if is_verdict(test)]
        if new:
            append(self._file, new)
        self._trials += new
        self._added += len(new)

    def _trial(self, goal: Goal, test: TestResult, seconds: float) -> Trial:
        kind, verdict, state = self._subject.kinds[test.nodeid], test.headline, self._subject.state
        assert verdict.interval is not None
        return Trial(
            nodeid=test.nodeid,
            source_hash=kind.source_hash,
            injected=goal.injected,
            threshold=kind.threshold,
            outcome=verdict.outcome,
            interval=verdict.interval,
            blocks=len(test.blocks),
            seconds=round(seconds, 3),
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            commit=state.sha,
            dirty=state.dirty,
            facts=kind.facts,
        )

    def _show_progress(self, progress: Progress, label: str) -> None:
        whole = self._budget
        self._show(
            replace(progress, label=label, elapsed_s=whole.elapsed_s(), budget_s=whole.seconds)
        )


def against_itself(stage: Stage, slowdown: float, seed: int) -> Stage:
    """Return the stage with head's tree on both sides, and head made slower."""
    head = stage.sides[HEAD]
    sides = (replace(head, slowdown=slowdown), replace(head, side=BASE))
    return replace(stage, sides=sides, seed=seed)


def _is_uncounted(test: TestResult) -> bool:
    """Return whether the test is listed as uncounted; failures and skips are reported as such."""
    compared = test.headline.outcome in COMPARED
    return not compared and test.failure is None and test.skipped is None
