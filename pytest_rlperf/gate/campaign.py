"""The loop of a run: scout, measure blocks, judge, until every test is decided or time is up."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import reduce
from typing import Any

from pytest_rlperf.baselines.levels import reference_time
from pytest_rlperf.gate.beside_time import Family, Start, families, starts
from pytest_rlperf.gate.budget import Budget
from pytest_rlperf.gate.partners import Partner, side_block
from pytest_rlperf.gate.track import Benchmark, Track
from pytest_rlperf.metrics.call_time import time_metrics
from pytest_rlperf.metrics.within_run import drift_of, phases_of
from pytest_rlperf.model.metric import Metric
from pytest_rlperf.model.plan import Plan, Scouted
from pytest_rlperf.model.result import OVERSUBSCRIBED, Progress, TestResult
from pytest_rlperf.stats.decide import Gate, decide
from pytest_rlperf.stats.verdicts import Ended, verdict_of
from pytest_rlperf.workers.blocks import Blocks, Played, Task
from pytest_rlperf.workers.planning import block_seconds, choose_plan, lengthened, times_for

FAIR_SHARE = 2
"""Times the mean time that open tests have had so far."""
SCOUT_SHARE = 0.6
"""Of the budget, for the scouts of a suite too large for it."""


class Campaign:
    """Runs the tests of one session to their verdicts."""

    def __init__(
        self,
        benchmarks: Sequence[Benchmark],
        blocks: Blocks,
        *,
        partner: Partner,
        budget: Budget,
        cores: int,
        show: Callable[[Progress], None],
        gates: int = 0,
        closed: Callable[[Sequence[TestResult]], None] = lambda tests: None,
    ) -> None:
        """`gates`: verdicts of the whole build, where it gives others than these too. `closed` is
        told of tests as soon as they have left the campaign, but not of those that were still open
        when it was interrupted.
        """
        self.tracks = {b.nodeid: Track(b, partner.least_blocks) for b in benchmarks}
        self._blocks = blocks
        self._partner = partner
        self._budget = budget
        self._cores = cores
        self._show = show
        self._gates = gates or len(self.tracks)
        self._closed = closed
        tracks = self.tracks.values()
        self._beside: list[Family | Start] = [*families(tracks), *starts(tracks)]
        self._told: set[str] = set()
        self._interrupted = False

    def run(self) -> None:
        """Fills the tracks; what was measured stays there whatever ends the run."""
        self._interrupted = True
        try:
            self._scout()
            self._tell_closed()
            index = 1
            while (tasks := self._tasks()) and self._budget.left_s() > 0:
                self._run_block(index, tasks)
                self._tell_closed()
                index += 1
            self._interrupted = False
        finally:
            self._blocks.close()
            self._close()
        self._tell_closed()

    def results(self) -> list[TestResult]:
        return [self._result(track) for track in self.tracks.values()]

    def _tell_closed(self) -> None:
        new = [t for n, t in self.tracks.items() if not t.open and n not in self._told]
        self._told.update(track.benchmark.nodeid for track in new)
        if new:
            self._closed([self._result(track) for track in new])

    # -- blocks ---------------------------------------------------------------------------

    def _scout(self) -> None:
        deadline_s = self._budget.scout_deadline_s()
        benchmarks = [track.benchmark for track in self.tracks.values()]
        tasks = [
            Task(b.nodeid, None, b.spec.threads, min(deadline_s, b.timeout_s), b.nprocs)
            for b in benchmarks
        ]
        for played in self._blocks.run(0, tasks, tasks, self._budget.startup_deadline_s()):
            self._take_scout(self.tracks[played.nodeid], played)
            self._show_progress()
            if self._budget.left_s() <= (1 - SCOUT_SHARE) * self._budget.seconds:
                break  # what was scouted shall be measured too

    def _run_block(self, index: int, tasks: list[Task]) -> None:
        startup_s = self._budget.startup_deadline_s()
        for played in self._blocks.run(index, tasks, self._open_tasks(), startup_s):
            self._take_block(self.tracks[played.nodeid], played, index)
            if self._budget.left_s() <= 0:
                break
        for track in self.tracks.values():
            if track.open and track.blocks:
                self._judge(track, exhausted=False)
        self._judge_extras(exhausted=False)
        self._show_progress(index)

    def _open_tasks(self) -> list[Task]:
        return [self._task(t, t.plan) for t in self.tracks.values() if t.open and t.plan]

    def _task(self, track: Track, plan: Plan) -> Task:
        b = track.benchmark
        expected_s = track.expected_s(plan)
        # A block makes far more calls than the job that a test's own timeout is meant for.
        deadline_s = min(self._budget.block_deadline_s(expected_s), b.timeout_s + expected_s)
        return Task(b.nodeid, plan, b.spec.threads, deadline_s, b.nprocs)

    def _tasks(self) -> list[Task]:
        """The open ones, but none that does not fit into what is left, and none that has had more
        than its share of time: one slow test would leave all others without the blocks they need.
        """
        left_s = self._budget.left_s()
        tasks = [t for t in self._open_tasks() if self.tracks[t.nodeid].block_s <= left_s]
        spent_s = {task.nodeid: self.tracks[task.nodeid].spent_s for task in tasks}
        share_s = FAIR_SHARE * sum(spent_s.values()) / max(1, len(tasks))
        return self._lengthened([t for t in tasks if spent_s[t.nodeid] <= share_s])

    def _lengthened(self, tasks: Sequence[Task]) -> list[Task]:
        """A few short tests are done before the next block's workers are up: more pairs, which
        make the block more precise, cost no time then.
        """
        tracks = [self.tracks[task.nodeid] for task in tasks]
        planned_s = sum(block_seconds(t.plan, t.seen) for t in tracks if t.plan and t.seen)
        times = times_for(self._blocks.startup_s, planned_s)
        return [
            self._task(t, lengthened(t.plan, t.benchmark.spec, times)) for t in tracks if t.plan
        ]

    # -- taking what a block gave -----------------------------------------------------------

    def _take_scout(self, track: Track, played: Played) -> None:
        if not track.both_ran(played.runs):
            return
        facts = [run.facts for run in played.runs if run.facts is not None]
        tests = facts if self._partner.tests else facts[:1]
        seen = reduce(Scouted.worst, map(_scouted, tests))
        track.scouted_ns = tuple(each["call_ns"] for each in tests)
        track.seen, track.scouted_s, track.steps = seen, played.seconds, facts[0]["steps"]
        b = track.benchmark
        plan = choose_plan(seen, b.spec, self._cores)
        track.plan = self._partner.plan(b.nodeid, b.spec, plan, seen, _second(facts))
        track.first_call_ns = facts[0]["first_ns"]
        for name, run in zip(("head", "base"), played.runs, strict=False):
            track.imported[name] = run.imported

    def _take_block(self, track: Track, played: Played, index: int) -> None:
        track.spent_s += played.seconds
        if not track.both_ran(played.runs):
            return
        facts = [run.facts for run in played.runs if run.facts is not None]
        if not self._check_work(track, facts):
            return
        plan = track.plan
        assert plan is not None
        block = self._partner.block(side_block(facts[0], plan), _second(facts), plan)
        block = replace(block, core=played.core, steal=played.steal, index=index)
        track.blocks.append(block)
        if self._judges(track):
            track.told.append(self._partner.told(block))

    def _check_work(self, track: Track, facts: Sequence[Mapping[str, Any]]) -> bool:
        work = self._partner.work(track.benchmark.nodeid, _second(facts))
        if work is not None and facts[0]["work"] != work:
            track.other_work = Ended.of_work(facts[0]["work"], work)
        return track.open

    # -- judging ----------------------------------------------------------------------------

    def _judge(self, track: Track, exhausted: bool) -> None:
        if self._judges(track):
            track.ratios = self._partner.ratios(track.benchmark.nodeid, track.told)
            track.decision = decide(track.ratios, self._gate(track), exhausted)
        elif track.other_work is None:
            nodeid, number = track.benchmark.nodeid, len(track.blocks)
            track.ended = self._partner.enough(nodeid, number, exhausted)

    def _judge_extras(self, exhausted: bool) -> None:
        """What is judged beside time keeps its tests open as long as it wants more blocks."""
        wanting = [e for e in self._beside if e.judge(self._partner, self._gates, exhausted)]
        held = {track.benchmark.nodeid for extra in wanting for track in extra.tracks}
        for nodeid, track in self.tracks.items():
            track.held = nodeid in held

    def _extras(self, track: Track) -> tuple[Metric, ...]:
        own = [extra for extra in self._beside if extra.told_with is track]
        return tuple(extra.metric(self._partner, self._interrupted) for extra in own)

    def _judges(self, track: Track) -> bool:
        return track.other_work is None and self._partner.judges(track.benchmark.nodeid)

    def _gate(self, track: Track) -> Gate:
        b = track.benchmark
        return self._partner.gate(b.nodeid, b.spec, self._gates, track.told)

    def _close(self) -> None:
        """Time is up or all are decided: give every open test the best word there is."""
        for track in self.tracks.values():
            if track.open:
                self._judge(track, exhausted=True)
        self._judge_extras(exhausted=True)

    def _result(self, track: Track) -> TestResult:
        b = track.benchmark
        verdict = verdict_of(
            track.decision,
            track.ended or track.other_work,
            self._gate(track).threshold,
            failed=track.failure is not None,
            skipped=track.skipped is not None,
            labels=self._labels(track),
            interrupted=self._interrupted,
        )
        return TestResult(
            nodeid=b.nodeid,
            spec=b.spec,
            metrics=(
                *time_metrics(verdict, track.blocks, track.steps, track.judged),
                *self._extras(track),
            ),
            blocks=tuple(track.blocks),
            plan=track.plan,
            size=b.size,
            reference=reference_time(track.blocks, self._partner.unit(b.nodeid, track.told)),
            steps=track.steps,
            first_call_ns=track.first_call_ns,
            drift=drift_of(track.blocks),
            phases=phases_of(track.blocks),
            failure=track.failure,
            skipped=track.skipped,
            source_hash=b.source_hash,
            repeat_command=b.repeat_command,
            imported=track.imported,
            explanation=track.explanation,
        )

    def _labels(self, track: Track) -> Iterator[str]:
        if track.plan is not None and track.plan.wall:
            yield "wall time, by alternation"
        if track.benchmark.size is not None and track.benchmark.size.oversubscribed:
            yield OVERSUBSCRIBED
        if label := self._partner.label(track.benchmark.nodeid):
            yield label

    def _show_progress(self, blocks: int = 0) -> None:
        still_open = [t for t in self.tracks.values() if t.open]
        widths = [
            t.decision.interval.width / 2 for t in still_open if t.decision and t.decision.interval
        ]
        self._show(
            Progress(
                decided=len(self.tracks) - len(still_open),
                tests=len(self.tracks),
                blocks=blocks,
                widest=max(widths, default=None),
                elapsed_s=self._budget.elapsed_s(),
                budget_s=self._budget.seconds,
            )
        )


def _scouted(facts: Mapping[str, Any]) -> Scouted:
    return Scouted(
        **{each.name: facts[each.name] for each in fields(Scouted) if each.name in facts}
    )


def _second(facts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    return facts[1] if len(facts) > 1 else None
