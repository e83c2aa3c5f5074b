"""Plays rounds: each is a run of the gate in which the working tree is compared with itself."""

import datetime
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_rlperf.gate.budget import Budget
from pytest_rlperf.gate.campaign import Campaign
from pytest_rlperf.gate.partners import Partner
from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.model.metric import COMPARED
from pytest_rlperf.model.result import Goal, Progress, Proof, TestResult, Trial
from pytest_rlperf.prove import cases
from pytest_rlperf.prove.cases import VerdictKind, counting, is_verdict
from pytest_rlperf.prove.rates import append, by_case, by_test, false_alarms, missed
from pytest_rlperf.prove.report import render_change
from pytest_rlperf.trees.git import WorkingState
from pytest_rlperf.wire import BASE, HEAD
from pytest_rlperf.workers.blocks import Blocks
from pytest_rlperf.workers.pair import SEED_MAX, Stage


@dataclass(frozen=True, slots=True)
class Subject:
    """What the gate is proved on."""

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
        self._told_at_s = 0.0

    def play(self) -> None:
        """Until the time is over or enough is known; every verdict is on disk at once."""
        while (goal := cases.next_goal(self._goals())) and self._benchmarks() and self._fits(goal):
            self._number += 1
            self._play(goal)

    def results(self) -> list[TestResult]:
        """The last of each test."""
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
        return cases.goals(cases.CASES, self._trials)

    def _benchmarks(self) -> list[Benchmark]:
        """Without those that cannot be judged: they would not do better in the next round."""
        out = {n for n, test in self._results.items() if test.headline.outcome not in COMPARED}
        return [b for b in self._subject.benchmarks if b.nodeid not in out]

    def _fits(self, goal: Goal) -> bool:
        """Whether a round should end before the time does. The first one is played in any case:
        a run that adds nothing would never come further.
        """
        needed_s = cases.expected_s(goal, self._trials, len(self._benchmarks()))
        return self._number == 0 or self._budget.left_s() > needed_s

    def _play(self, goal: Goal) -> None:
        label = f"round {self._number}, {render_change(goal.injected)}"
        self._told_at_s = self._budget.elapsed_s()
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
            self._results |= {test.nodeid: test for test in campaign.results()}

    def _keep(self, goal: Goal, tests: Sequence[TestResult]) -> None:
        now_s = self._budget.elapsed_s()
        seconds = (now_s - self._told_at_s) / len(tests)
        self._told_at_s = now_s
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
    """Both sides are head's tree; head is made slower."""
    head = stage.sides[HEAD]
    sides = (replace(head, slowdown=slowdown), replace(head, side=BASE))
    return replace(stage, sides=sides, seed=seed)


def _is_uncounted(test: TestResult) -> bool:
    """Failures and skips are reported as such."""
    compared = test.headline.outcome in COMPARED
    return not compared and test.failure is None and test.skipped is None
