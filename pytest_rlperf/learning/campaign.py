"""Tests of learning, one after the other: pairs of seeds until each is decided or time is up.

Nothing has to be proven by statistics that can be proven by equality: where the first seeds learn
the same on both sides, bit for bit, the test is done. The base is trained here, or its trainings
come from a stored baseline. A run that saves one trains head with as many seeds as it may.
"""

import math
import statistics
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from pytest_rlperf.gate.budget import Budget
from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.learning.bets import LearningGate, decide, least_pairs
from pytest_rlperf.learning.kept import KeptTrainings
from pytest_rlperf.learning.runs import LearningRuns, SeedTask, Trained
from pytest_rlperf.learning.scores import (
    differences_of,
    interquartile_mean,
    scored,
    tasks_of,
    worst_of,
)
from pytest_rlperf.learning.track import LearningTrack, StoredReturns, track_of
from pytest_rlperf.model.block import Spending
from pytest_rlperf.model.learning import LearningMetric, LearningResult
from pytest_rlperf.model.metric import Metric, Outcome, Verdict
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.result import Failure, Progress, TestResult
from pytest_rlperf.stats.decide import Decision
from pytest_rlperf.stats.verdicts import Ended, severity
from pytest_rlperf.wire import BASE, HEAD
from pytest_rlperf.workers.side import SideRun, State

SURE_SEEDS = 3
"""So many seeds that learn the same on both sides, bit for bit, show that nothing has changed; and
so many that fail on both, that the training is broken."""
NAMES = {
    LearningMetric.FINAL: "final_return",
    LearningMetric.AREA: "mean_return",
    LearningMetric.STEPS: "steps_to_goal",
    LearningMetric.SOLVED: "solved",
}
"""The metrics as results call them."""
IDENTICAL = f"the first {SURE_SEEDS} seeds learned the same on both sides, bit for bit"
LEARNS_NOTHING = (
    "the base learns nothing beyond the worst return, so nothing could be lost; train longer, or "
    "name the return of who has learned nothing: worst=..."
)
ALL_FAILED = "the training fails with every seed"


class LearningCampaign:
    """Runs tests to the verdicts on what they learn."""

    def __init__(
        self,
        benchmarks: Sequence[Benchmark],
        runs: LearningRuns,
        *,
        gates: int,
        show: Callable[[Progress], None],
        kept: KeptTrainings | None = None,
        stored: StoredReturns | None = None,
        one_environment: bool = True,
    ) -> None:
        """Prepare a campaign in which `gates` verdicts share the build's false-alarm budget.
        `stored` takes the place of a revision to compare with. Without `one_environment` what some
        seeds learned the same says nothing of the others.
        """
        self.tracks = {b.nodeid: track_of(b, b.learning, stored) for b in benchmarks if b.learning}
        self._runs = runs
        self._gates = gates
        self._show = show
        self._kept = kept
        self._one_environment = one_environment

    def run(self, budget: Budget) -> None:
        """Fill the tracks as far as the budget goes, each with its part of what is left."""
        waiting = [track for track in self.tracks.values() if track.open]
        while waiting and budget.left_s() > 0:
            track = waiting.pop(0)
            self._run(track, budget.part(budget.left_s() / (len(waiting) + 1)), budget)

    def _run(self, track: LearningTrack, part: Budget, budget: Budget) -> None:
        begun = time.monotonic()
        self._go_on_from_kept(track)
        # What was begun and not finished, when time was up, is to be trained again.
        track.begun = {SeedTask(side, s) for side, seeds in track.sides.items() for s in seeds}
        until = begun + part.left_s()
        trained = self._runs.run(track.benchmark, track, track.spec.timeout, until)
        try:
            for each in trained:
                self._take(track, each)
                self._judge(track, exhausted=False)
                self._show_progress(track, budget)
                if not track.open:
                    break
        finally:
            trained.close()
            track.spent_s += time.monotonic() - begun

    def _go_on_from_kept(self, track: LearningTrack) -> None:
        """Take over what earlier runs have trained of the same code, and judge it as it came."""
        if self._kept is None:
            return
        for side in track.trained_sides:
            seeds = track.sides[side]
            seeds |= {
                s: t for s, t in self._kept.load(track.benchmark, side).items() if s not in seeds
            }
        self._judge(track, exhausted=False)

    def _take(self, track: LearningTrack, trained: Trained) -> None:
        """Note what a training gave; where it gave nothing, the test is to blame."""
        training, run, side = trained.training, trained.run, trained.task.side
        if training is None and side == BASE:
            track.base_trouble = run  # is it the test itself, so that head has the same?
        elif training is None:
            track.track.both_ran((run,))
        else:
            track.sides[side][training.seed] = training
            track.unkept.add(side)
            self._keep(track)
            if side == HEAD and training.failure is None and run.state is State.FAILED:
                # What the test asserts of a training, it asserts of every seed.
                track.track.failure = Failure(f"seed {training.seed}: {run.text}", run.sections)
        if track.base_trouble is not None and track.sides[HEAD] and track.track.failure is None:
            track.track.both_ran((SideRun(State.RAN), track.base_trouble))

    def _keep(self, track: LearningTrack) -> None:
        for side in tuple(track.unkept):
            if self._kept is not None:
                self._kept.keep(track.benchmark, side, track.sides[side])
            track.unkept.discard(side)

    def _judge(self, track: LearningTrack, exhausted: bool) -> None:
        if _fails(track):
            track.track.failure = Failure(f"{ALL_FAILED}\n\n{track.of_head[0].failure}")
        if track.judged or not (pairs := track.pairs):
            return
        first = pairs[:SURE_SEEDS] if self._one_environment else []
        if len(first) == SURE_SEEDS and all(head.is_identical(base) for head, base in first):
            track.track.ended = Ended(Outcome.IDENTICAL, IDENTICAL)
        else:
            last = exhausted or len(pairs) == len(track.compared_seeds)
            head, base = zip(*pairs, strict=True)
            differences = differences_of(scored(head, base, track.spec))
            if differences is not None:
                gate = LearningGate(track.spec.threshold, self._gates)
                track.decision = replace(decide(differences, gate, last), out_of_time=exhausted)
            elif last:
                track.track.ended = Ended(Outcome.INCOMPARABLE, LEARNS_NOTHING)

    def close(self, budget_s: float, interrupted: bool) -> None:
        """Judge all by what was trained, since there will be no more."""
        for track in self.tracks.values():
            self._keep(track)  # Ctrl+C may have come while it was being written
            self._judge(track, exhausted=True)
            if not track.reached and not interrupted:
                track.track.ended = Ended.not_measured("its learning", budget_s, None)

    # -- results ------------------------------------------------------------------------------

    def attached(self, nodeid: str) -> TestResult:
        """Return the result of a test."""
        track = self.tracks[nodeid]
        b = track.benchmark
        return TestResult(
            nodeid,
            b.spec,
            metrics=(_metric(track, self._gates),),
            failure=track.track.failure,
            skipped=track.track.skipped,
            source_hash=b.source_hash,
            repeat_command=b.repeat_command,
            cost=Spending(learning=track.spent_s),
            learning=_result(track),
        )

    def _show_progress(self, track: LearningTrack, budget: Budget) -> None:
        interval = track.decision.interval if track.decision else None
        self._show(
            Progress(
                decided=sum(not each.open for each in self.tracks.values()),
                tests=len(self.tracks),
                blocks=0,
                widest=interval.width / 2 if interval else None,
                elapsed_s=budget.elapsed_s(),
                budget_s=budget.seconds,
                label="learning",
                seeds=len(track.of_head if track.saving else track.pairs),
            )
        )


def _fails(track: LearningTrack) -> bool:
    """Return whether the first seeds all failed, on both sides or on the only one there is."""
    alone = track.trained_sides == (HEAD,) and not track.sides[BASE]
    known = [(head,) for head in track.of_head] if alone else track.pairs
    first = known[:SURE_SEEDS]
    return len(first) == SURE_SEEDS and all(each.failure for sides in first for each in sides)


def _metric(track: LearningTrack, gates: int) -> Metric:
    """Return what is judged, with its verdict; values are interquartile means over the seeds."""
    name, pairs, alone = NAMES[track.spec.metric], track.pairs, track.of_head
    metric = Metric(name, _verdict(track, gates))
    if pairs:
        head, base = zip(*pairs, strict=True)
        tasks = scored(head, base, track.spec).values()
        heads, bases = (_means(task.head for task in tasks), _means(task.base for task in tasks))
        metric = replace(metric, base=bases, base_value=interquartile_mean(bases))
    elif alone and track.saving:
        heads = _means(task.head for task in scored(alone, alone, track.spec).values())
    else:
        return metric
    return replace(metric, head=heads, value=interquartile_mean(heads))


def _means(tasks: Iterable[Sequence[float]]) -> tuple[float, ...]:
    """Return the mean over the tasks, seed by seed."""
    return tuple(map(statistics.fmean, zip(*tasks, strict=True)))


def _verdict(track: LearningTrack, gates: int) -> Verdict:
    threshold, ended, decision = track.spec.threshold, track.track.ended, track.decision
    if ended is not None:
        return Verdict(ended.outcome, ended.reason, threshold)
    if decision is None or decision.outcome is None:
        reason = "the run was interrupted before its learning was judged; run it again"
        return Verdict(Outcome.INCONCLUSIVE, reason, threshold)
    regressed = decision.outcome is Outcome.REGRESSED and decision.interval is not None
    return Verdict(
        outcome=decision.outcome,
        reason=_reason(track, decision, LearningGate(threshold, gates)) + _other_tasks(track),
        threshold=threshold,
        interval=decision.interval,
        detectable=decision.detectable,
        severity=severity(decision.interval.change) if regressed and decision.interval else None,
        label=track.level.label if track.level else None,
    )


def _reason(track: LearningTrack, decision: Decision, gate: LearningGate) -> str:
    allowed, seeds = format_percent(gate.threshold, signed=False), f"{decision.blocks} seeds"
    match decision.outcome:
        case Outcome.REGRESSED:
            return f"it learns less, by more than the allowed {allowed}, beyond doubt"
        case Outcome.IMPROVED:
            return f"it learns more, by more than {allowed}"
        case Outcome.UNCHANGED:
            rare = format_percent(unseen(decision.blocks), signed=False)
            return f"within the allowed {allowed}; what strikes {rare} of the seeds may go unseen"
    more = "save it again with more seeds" if track.level is not None else "give it more seeds"
    if not decision.out_of_time and decision.blocks < (least := least_pairs(gate)):
        among = f" among {gate.tests} verdicts" if gate.tests > 1 else ""
        return f"{seeds} are too few to call anything worse{among}, {least} are the least; {more}"
    cure = "raise --rlperf-budget" if decision.out_of_time else more
    return f"{seeds} could not tell it from the allowed {allowed}; {cure}, or allow more"


def _other_tasks(track: LearningTrack) -> str:
    """Return what to add to a reason where the sides tell of different tasks."""
    pairs = track.pairs
    head = {task: None for training, _ in pairs for task in training.curves}
    base = {task: None for _, training in pairs for task in training.curves}
    lost, new = _named(head, base), _named(base, head)
    if not head or not base:
        return ""
    words = f"; head tells nothing of {lost}, which counts as the worst return" if lost else ""
    return words + (f"; not judged, since the base tells nothing of it: {new}" if new else "")


def _named(known: Collection[str], others: Iterable[str]) -> str:
    """Return the names of the tasks that are not among the known ones."""
    return ", ".join(task or "the task without a name" for task in others if task not in known)


def unseen(seeds: int) -> float:
    """Return the share of seeds that may fail although, by chance of one in twenty, none did."""
    return 1 - math.pow(0.05, 1 / seeds)


def _result(track: LearningTrack) -> LearningResult:
    base = [base for _, base in track.pairs]
    head = track.of_head if track.saving else [head for head, _ in track.pairs]
    every = (*head, *base)
    worst = min((worst_of(every, task, track.spec) for task in tasks_of(every)), default=None)
    return LearningResult(
        metric=track.spec.metric,
        head=tuple(head),
        base=tuple(base),
        goal=track.spec.goal,
        worst=worst if every else None,
    )
