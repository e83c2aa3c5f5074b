"""The loop of a run: scout, measure blocks, judge, until every test is decided or time is up."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import islice

from pytest_rlperf.baselines.levels import reference_time
from pytest_rlperf.gate.beside_time import Family, Start, families, starts
from pytest_rlperf.gate.budget import Budget
from pytest_rlperf.gate.partners import Comparison, Partner, gate_of
from pytest_rlperf.gate.track import Benchmark, Track
from pytest_rlperf.metrics.times import time_metrics
from pytest_rlperf.metrics.within_run import drift_of, phases_of
from pytest_rlperf.model.metric import Metric, Outcome
from pytest_rlperf.model.plan import Plan, Scouted
from pytest_rlperf.model.result import OVERSUBSCRIBED, Progress, TestResult
from pytest_rlperf.stats.decide import Gate, decide
from pytest_rlperf.stats.verdicts import Ended, verdict_of
from pytest_rlperf.trees.code_changes import SameCode
from pytest_rlperf.wire import Measurement, Order, Report, ScoutReport
from pytest_rlperf.workers.blocks import Blocks, Played
from pytest_rlperf.workers.planning import block_seconds, choose_plan, lengthened, times_for

FAIR_SHARE = 2
"""Times the mean time that open tests have had so far."""
TOLD = 10
"""Differences of the code that are named with a test."""
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
        same_code: SameCode | None = None,
    ) -> None:
        """Prepare a campaign. `gates`: verdicts of the whole build, where it gives others than
        these too. `closed` is called with tests as soon as they have left the campaign, but not
        with those that were still open when it was interrupted.
        """
        self.tracks = {b.nodeid: Track(b, partner.least_blocks) for b in benchmarks}
        self._blocks = blocks
        self._partner = partner
        self._budget = budget
        self._cores = cores
        self._show = show
        self._gates = gates or len(self.tracks)
        self._closed = closed
        self._same_code = same_code
        tracks = self.tracks.values()
        self._beside: list[Family | Start] = [*families(tracks), *starts(tracks)]
        self._reported: set[str] = set()
        self._interrupted = False

    def run(self) -> None:
        """Fill the tracks; what was measured stays there whatever ends the run."""
        self._interrupted = True
        try:
            self._scout()
            self._report_closed()
            index = 1
            while (orders := self._orders()) and self._budget.left_s() > 0:
                self._run_block(index, orders)
                self._report_closed()
                index += 1
            self._interrupted = False
        finally:
            self._blocks.close()
            self._close()
        self._report_closed()

    def results(self) -> list[TestResult]:
        return [self._result(track) for track in self.tracks.values()]

    def _report_closed(self) -> None:
        new = [t for n, t in self.tracks.items() if not t.open and n not in self._reported]
        self._reported.update(track.benchmark.nodeid for track in new)
        if new:
            self._closed([self._result(track) for track in new])

    # -- blocks ---------------------------------------------------------------------------

    def _scout(self) -> None:
        deadline_s = self._budget.scout_deadline_s()
        benchmarks = [track.benchmark for track in self.tracks.values()]
        orders = [b.order(min(deadline_s, b.timeout_s)) for b in benchmarks]
        for played in self._blocks.run(0, orders, orders, self._budget.startup_deadline_s()):
            self._take_scout(self.tracks[played.nodeid], played)
            self._show_progress()
            if self._budget.left_s() <= (1 - SCOUT_SHARE) * self._budget.seconds:
                break  # what was scouted shall be measured too
        for extra in self._beside:
            _keep_together(extra.tracks)

    def _run_block(self, index: int, orders: list[Order]) -> None:
        startup_s = self._budget.startup_deadline_s()
        for played in self._blocks.run(index, orders, self._open_orders(), startup_s):
            self._take_block(self.tracks[played.nodeid], played, index)
            if self._budget.left_s() <= 0:
                break
        for track in self.tracks.values():
            if track.open and track.blocks:
                self._judge(track, exhausted=False)
        self._judge_extras(exhausted=False)
        self._show_progress(index)

    def _open_orders(self) -> list[Order]:
        return [self._order(t, t.plan) for t in self.tracks.values() if t.open and t.plan]

    def _order(self, track: Track, plan: Plan) -> Order:
        b = track.benchmark
        expected_s = track.expected_s(plan)
        # A block makes far more calls than the job that a test's own timeout is meant for.
        deadline_s = min(self._budget.block_deadline_s(expected_s), b.timeout_s + expected_s)
        return b.order(deadline_s, plan)

    def _orders(self) -> list[Order]:
        """Return the orders of the next block: those of open tests, but of none that does not fit
        into what is left, and none that has had more than its share of time: one slow test would
        leave all others without the blocks they need.
        """
        left_s = self._budget.left_s()
        orders = [o for o in self._open_orders() if self.tracks[o.nodeid].block_s <= left_s]
        spent_s = {order.nodeid: self.tracks[order.nodeid].spent_s for order in orders}
        share_s = FAIR_SHARE * sum(spent_s.values()) / max(1, len(orders))
        return self._lengthened([o for o in orders if spent_s[o.nodeid] <= share_s])

    def _lengthened(self, orders: Sequence[Order]) -> list[Order]:
        """Return the orders with more pairs where those cost no time: a few short tests are done
        before the next block's workers are up, and more pairs make the block more precise.
        """
        tracks = [self.tracks[order.nodeid] for order in orders]
        planned_s = sum(block_seconds(t.plan, t.seen) for t in tracks if t.plan and t.seen)
        times = times_for(self._blocks.startup_s, planned_s)
        return [
            self._order(t, lengthened(t.plan, t.benchmark.spec, times)) for t in tracks if t.plan
        ]

    # -- taking what a block gave -----------------------------------------------------------

    def _take_scout(self, track: Track, played: Played) -> None:
        track.cost += played.cost
        if not track.both_ran(played.runs):
            return
        scouts = [run.report for run in played.runs if isinstance(run.report, ScoutReport)]
        seen = reduce(Scouted.worst, (scout.seen for scout in scouts))
        track.scouted_ns = tuple(scout.seen.call_ns for scout in scouts)
        track.seen, track.scouted_s, track.steps = seen, played.seconds, scouts[0].steps
        plan = choose_plan(seen, track.benchmark.spec, self._cores)
        track.plan = self._partner.plan(plan, seen, _partner_report(played))
        track.first_call_ns = scouts[0].seen.first_ns
        for name, run in zip(("head", "base"), played.runs, strict=False):
            track.imported[name] = run.imported
        self._look_for_differences(track, played)

    def _look_for_differences(self, track: Track, played: Played) -> None:
        """End a test that ran the same code on both sides. One that did not may have left something
        of it behind, in a cache for example, so that the next one begins in fresh workers.
        """
        if self._same_code is None:
            return
        differences = self._same_code.differences(run.ran for run in played.runs)
        track.differences = tuple(islice(dict.fromkeys(differences), TOLD))
        alone = self._same_code.changes.none or not track.benchmark.spec.starts
        if not track.differences and alone:  # a start is that of everything a process imports
            track.ended = Ended.same_code(self._same_code.changes)
        elif self._same_code.watched:
            self._blocks.renew()

    def _take_block(self, track: Track, played: Played, index: int) -> None:
        track.spent_s += played.seconds
        track.cost += played.cost
        if not track.both_ran(played.runs):
            return
        head, partner = played.runs[0].report, _partner_report(played)
        assert isinstance(head, Measurement)
        if not self._check_work(track, head.block.work, partner):
            return
        block = self._partner.block(head.block, partner)
        block = replace(block, core=played.core, steal=played.steal, index=index)
        track.blocks.append(block)
        if comparison := self._comparison(track):
            track.block_ratios.append(comparison.block_ratios(block))

    def _check_work(self, track: Track, done: Mapping[str, float], partner: Report | None) -> bool:
        """Note work that is not the partner's; return whether the test goes on."""
        wanted = self._partner.work(track.benchmark.nodeid, partner)
        if wanted is not None and done != wanted:
            track.other_work = Ended.different_work(done, wanted)
        return track.open

    # -- judging ----------------------------------------------------------------------------

    def _judge(self, track: Track, exhausted: bool) -> None:
        if comparison := self._comparison(track):
            track.ratios = comparison.ratios(track.block_ratios)
            decision = decide(track.ratios, self._gate(track), exhausted)
            track.decision = decision if comparison.judged else replace(decision, outcome=None)
        if track.other_work is None:
            nodeid, number = track.benchmark.nodeid, len(track.blocks)
            track.ended = self._partner.enough(nodeid, number, exhausted)

    def _judge_extras(self, exhausted: bool) -> None:
        """Judge what stands beside time; it keeps its tests open while it wants more blocks."""
        wanting = [e for e in self._beside if e.judge(self._partner, self._gates, exhausted)]
        held = {track.benchmark.nodeid for extra in wanting for track in extra.tracks}
        for nodeid, track in self.tracks.items():
            track.held = nodeid in held

    def _extras(self, track: Track) -> tuple[Metric, ...]:
        own = [extra for extra in self._beside if extra.reported_with is track]
        return tuple(extra.metric(self._partner, self._interrupted) for extra in own)

    def _comparison(self, track: Track) -> Comparison | None:
        """Return what the test is judged by; None: it is not comparable."""
        if track.other_work is not None:
            return None
        return self._partner.comparison(track.benchmark.nodeid)

    def _gate(self, track: Track) -> Gate:
        b = track.benchmark
        return gate_of(self._partner, b.nodeid, b.spec, self._gates, track.block_ratios)

    def _close(self) -> None:
        """Judge every open test by the blocks there are, since no more will come."""
        for track in self.tracks.values():
            if track.open:
                self._judge(track, exhausted=True)
        self._judge_extras(exhausted=True)

    def _result(self, track: Track) -> TestResult:
        b = track.benchmark
        comparison = self._partner.comparison(b.nodeid)
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
                *time_metrics(verdict, track.blocks, track.steps, track.judged, track.scouted_ns),
                *self._extras(track),
            ),
            blocks=tuple(track.blocks),
            plan=track.plan,
            size=b.size,
            reference=reference_time(
                track.blocks, comparison.unit(track.block_ratios) if comparison else {}
            ),
            steps=track.steps,
            first_call_ns=track.first_call_ns,
            drift=drift_of(track.blocks),
            phases=phases_of(track.blocks),
            failure=track.failure,
            skipped=track.skipped,
            source_hash=b.source_hash,
            repeat_command=b.repeat_command,
            imported=track.imported,
            differences=track.differences,
            explanation=track.explanation,
            cost=track.cost,
        )

    def _labels(self, track: Track) -> Iterator[str]:
        if track.plan is not None and track.plan.wall:
            yield "wall time, by alternation"
        if track.benchmark.size is not None and track.benchmark.size.oversubscribed:
            yield OVERSUBSCRIBED
        comparison = self._partner.comparison(track.benchmark.nodeid)
        if comparison is not None and comparison.label:
            yield comparison.label

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


def _keep_together(tracks: Sequence[Track]) -> None:
    """Let all of these tests be measured where one of them is: they are judged together, too."""
    if any(track.open for track in tracks):
        for track in tracks:
            if track.ended and track.ended.outcome is Outcome.SAME_CODE:
                track.ended = None


def _partner_report(played: Played) -> Report | None:
    return played.runs[1].report if len(played.runs) > 1 else None
