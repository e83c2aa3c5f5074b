"""The loop of a run: scout, measure blocks, judge, until every test is decided or time is up.

Where there is no time for all tests, as many are begun as it can decide, and others after them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property, reduce
from types import MappingProxyType

from pytest_rlperf.baselines.levels import reference_time
from pytest_rlperf.gate.beside_time import Family, Start, families, starts
from pytest_rlperf.gate.budget import SLACK, BlockForecast, Budget, Need, fitting, is_full
from pytest_rlperf.gate.partners import Comparison, Partner, blocks_until, gate_of
from pytest_rlperf.gate.track import Benchmark, ScoutRecord, Track
from pytest_rlperf.metrics.times import time_metrics
from pytest_rlperf.metrics.within_run import drift_of, phases_of
from pytest_rlperf.model.block import LEAST_BLOCKS, Spending
from pytest_rlperf.model.metric import Metric
from pytest_rlperf.model.plan import Plan, Scouted
from pytest_rlperf.model.result import OVERSUBSCRIBED, Progress, TestResult
from pytest_rlperf.stats.decide import Gate, decide
from pytest_rlperf.stats.verdicts import Ended, verdict_of
from pytest_rlperf.trees.code_changes import SameCode
from pytest_rlperf.wire import KernelSpeeds, Measurement, Order, Report, ScoutReport
from pytest_rlperf.workers.blocks import Blocks, Played
from pytest_rlperf.workers.planning import (
    block_seconds,
    choose_plan,
    lengthened,
    settled,
    times_for,
)
from pytest_rlperf.workers.side import State
from pytest_rlperf.workers.watched_runs import WatchedRuns

FAIR_SHARE = 2
"""Times the mean time that open tests have had so far."""
LAST_WORD, FIRST_LOOK, USUAL_LOOK = -1, 0, 2
"""What is begun should come to its third look, by which most tests are decided; where the time
left is too short for that, to its first, or to where there is a last word at the end of the time.
"""
THIN = 4
"""Further tests are begun when this part of those before them is still open: it may stay so for
long, and a few tests are done before the workers of the next block are up."""
USUAL_BLOCK_S = 0.33
"""What a block of a test takes of which nothing is known (see `planning.BLOCK_NS`)."""


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
        scouts: Mapping[str, ScoutRecord] = MappingProxyType({}),
        first: Callable[[], Set[str]] = frozenset,
        besides_s: Callable[[], float] = lambda: 0.0,
        same_code: SameCode | None = None,
        watched: WatchedRuns | None = None,
    ) -> None:
        """Prepare a campaign. `gates`: verdicts of the whole build, where it gives others than
        these too. `closed` is called with tests as soon as they have left the campaign, but not
        with those that were still open when it was interrupted. `scouts` are those of earlier runs.
        `first` returns the tests that come first where there may be no time for all, `besides_s`
        what else the budget is needed for. `watched` shows which tests run the same code.
        """
        self.tracks = {b.nodeid: Track(b, partner.least_blocks) for b in benchmarks}
        self.needed_s: float | None = None  # that would have done; None: all were reached
        self._blocks = blocks
        self._partner = partner
        self._budget = budget
        self._cores = cores
        self._show = show
        self._gates = gates or len(self.tracks)
        self._closed = closed
        self._find_first = first
        self._besides_s = besides_s
        self._same_code = same_code
        self._watched = watched
        tracks = self.tracks.values()
        self._units = _units(tracks)
        self._beside: list[Family | Start] = [*families(tracks), *starts(tracks)]
        self._beside_of: dict[str, list[Family | Start]] = {}
        for extra in self._beside:
            for track in extra.tracks:
                self._beside_of.setdefault(track.benchmark.nodeid, []).append(extra)
        self._batch = 0  # tests that were open when the last ones were begun
        self._pace = 1.0  # how much longer than planned blocks take
        self._reported: set[str] = set()
        self._interrupted = True  # as long as it has not come to its end
        for nodeid, record in scouts.items():
            self._recall(self.tracks[nodeid], record)

    def run(self, after_scouts: Callable[[], None] = lambda: None) -> None:
        """Fill the tracks; what was measured stays there whatever ends the run. `after_scouts` is
        called once, before the first block.
        """
        try:
            self._watch()
            orders, index = self._next_orders(), 1
            left_s = self._budget.left_s()
            after_scouts()
            if self._budget.left_s() < left_s:
                orders = self._next_orders()
            if orders:
                self._show_progress(scouted=True)
            while self._budget.left_s() > 0 and orders:
                shares = self._shares(orders, index)
                self._run_blocks(index, shares)
                self._report_closed()
                orders, index = self._next_orders(), index + len(shares)
            self._interrupted = False
        finally:
            self._blocks.close()
            self._close()
        self._report_closed()

    def _watch(self) -> None:
        """End the tests that run the same code on both sides. What fails is left to the scouts: it
        may have been disturbed.
        """
        if self._watched is None or self._same_code is None:
            return
        tracks = [track for track in self.tracks.values() if track.open]
        speaks_of = self._same_code.speaks_of
        orders = [self._scout_order(t) for t in tracks if speaks_of(t.benchmark.nodeid)]
        for played in self._watched.run(orders, self._budget.startup_deadline_s()):
            track = self.tracks[played.nodeid]
            track.cost += Spending(scouting=played.share_s)
            seen = all(
                run.state is State.MET or (run.state is State.RAN and run.report is not None)
                for run in played.runs
            )
            if seen and track.runs_same_code(self._same_code, played.runs):
                _note_scouts(track, played)
            self._show_progress()
            if self._budget.left_s() <= 0:
                break
        for extra in self._beside:
            _keep_together(extra.tracks)
        self._report_closed()

    def results(self) -> list[TestResult]:
        return [self._result(track) for track in self.tracks.values()]

    @property
    def scouts(self) -> dict[str, ScoutRecord]:
        """Return what later runs may remember, by test."""
        return {nodeid: t.scout for nodeid, t in self.tracks.items() if t.scout is not None}

    def _report_closed(self) -> None:
        new = [t for n, t in self.tracks.items() if not t.open and n not in self._reported]
        self._reported.update(track.benchmark.nodeid for track in new)
        if new:
            self._closed([self._result(track) for track in new])

    # -- who is begun, and who gets a block: what the time left carries to a look --------------

    def _next_orders(self) -> list[Order]:
        """Return the orders of the next block. Before it, further tests are begun where few of
        those before them are left; at the end, those that were begun have what time remains.
        """
        orders = self._orders()
        while self._is_thin(orders) and (
            self._begin(USUAL_LOOK)
            or (not orders and (self._begin(FIRST_LOOK) or self._begin(LAST_WORD)))
        ):
            orders = self._orders()
        return orders or self._orders(last=True)

    def _is_thin(self, orders: Sequence[Order]) -> bool:
        begun = sum(track.open and track.begun for track in self.tracks.values())
        return not orders or begun <= self._batch // THIN

    def _open_units(self, begun: bool) -> list[list[Track]]:
        units = ([t for t in unit if t.open and t.begun is begun] for unit in self._units)
        return [unit for unit in units if unit]

    def _begin(self, look: int) -> bool:
        """Begin those of the waiting tests that should come to this look in the time left, and
        scout for them; return whether anything came of it.
        """
        came = False
        waiting = self._open_units(begun=False)
        urgent = [any(t.benchmark.nodeid in self._first for t in unit) for unit in waiting]
        for now in (True, False):
            units = [unit for unit, first in zip(waiting, urgent, strict=True) if first is now]
            came |= self._scout(units, look)
            left = ([t for t in unit if t.open] for unit in units)
            planned = [unit for unit in left if unit and all(t.plan for t in unit)]
            for unit in self._fitting(planned, look, self._forecast_of_begun()):
                came = True
                for track in unit:
                    track.begun = True
        self._batch = sum(track.open and track.begun for track in self.tracks.values())
        return came

    @cached_property
    def _first(self) -> Set[str]:
        """The tests that come first; nobody, where there should be time for all."""
        usual_s = sum(self._need(t, USUAL_LOOK).seconds for t in self.tracks.values())
        return self._find_first() if 2 * usual_s > self._budget.left_s() else frozenset()

    def _scout(self, units: Sequence[Sequence[Track]], look: int) -> bool:
        """Scout tests until those that are known fill the time left; return whether any was."""
        unknown = [unit for unit in units if any(t.plan is None for t in unit)]
        hopeful = self._fitting(unknown, look, self._forecast_of_begun())
        hopeless = not hopeful and any(track.plan for track in self.tracks.values())
        if not unknown or hopeless or self._is_full(look):
            return False
        if len(hopeful) < len(unknown):
            unknown.sort(key=lambda unit: sum(self._need(t, look).seconds for t in unit))
        orders = [self._scout_order(t) for unit in unknown for t in unit if t.plan is None]
        last = {unit[-1].benchmark.nodeid for unit in unknown}
        startup_s = self._budget.startup_deadline_s()
        for played in self._blocks.run(0, [orders], self._open_orders(), startup_s):
            self._take_scout(self.tracks[played.nodeid], played)
            self._show_progress()
            if played.nodeid in last and self._is_full(look):
                break  # what was scouted shall be measured too
        for extra in self._beside:
            _keep_together(extra.tracks)
        self._report_closed()
        return True

    def _is_full(self, look: int) -> bool:
        waiting = [unit for unit in self._open_units(begun=False) if all(t.plan for t in unit)]
        needs = ([self._need(t, look) for t in unit] for unit in waiting)
        budget = self._budget
        return is_full(self._forecast_of_begun(), needs, budget.left_s(), budget.seconds)

    def _orders(self, last: bool = False) -> list[Order]:
        """Return the orders of the next block: those of tests that can come to their next look in
        the time left, or with `last` to their last word. A test that had no look comes first, since
        its blocks would be lost.
        """
        look = LAST_WORD if last else None
        chosen = fitting(
            self._open_units(begun=True),
            lambda unit: [self._need(t, look) for t in unit],
            BlockForecast(self._blocks.block_s),
            self._budget.left_s(),
            urgent=lambda unit: any(len(t.blocks) < self._first_look(t) for t in unit),
        )
        tracks = self._fair([track for unit in chosen for track in unit], look)
        playing = {track.benchmark.nodeid for track in tracks}
        return [order for order in self._open_orders() if order.nodeid in playing]

    def _fair(self, tracks: Sequence[Track], look: int | None) -> Sequence[Track]:
        """Return the tests without those that have had more than their share of time: one slow test
        would leave all others without the blocks they need. But where a test that stands aside now
        would not come to its look any more, all play.
        """
        share_s = FAIR_SHARE * sum(track.spent_s for track in tracks) / max(1, len(tracks))
        fair = [track for track in tracks if track.spent_s <= share_s]
        forecast = BlockForecast(self._blocks.block_s)
        now_s = forecast.plus(self._need(t, blocks=1) for t in fair).seconds
        needs = [(self._need(t, look), t.spent_s <= share_s) for t in tracks]
        later = forecast.plus(replace(n, blocks=n.blocks - plays) for n, plays in needs)
        return fair if now_s + later.seconds <= self._budget.left_s() else tracks

    def _fitting(
        self, units: Sequence[Sequence[Track]], look: int, forecast: BlockForecast
    ) -> list[Sequence[Track]]:
        left_s = self._budget.left_s()
        return fitting(units, lambda u: [self._need(t, look) for t in u], forecast, left_s)

    def _forecast_of_begun(self) -> BlockForecast:
        begun = [track for unit in self._open_units(begun=True) for track in unit]
        return BlockForecast(self._blocks.block_s).plus(map(self._need, begun))

    def _need(self, track: Track, look: int | None = None, blocks: int | None = None) -> Need:
        """Return what a test needs until `look`, for so many `blocks`, or until its next look."""
        if blocks is None:
            until = self._next_look(track) if look is None else self._blocks_until(track, look)
            blocks = max(1, until - len(track.blocks))
        kind = track.benchmark.order(0.0, track.plan).kind
        return Need(kind, blocks, self._block_s(track))

    def _blocks_until(self, track: Track, look: int) -> int:
        b = track.benchmark
        if look == LAST_WORD:
            return LEAST_BLOCKS
        return blocks_until(self._partner, b.nodeid, b.spec, look)

    def _first_look(self, track: Track) -> int:
        return self._blocks_until(track, FIRST_LOOK)

    def _next_look(self, track: Track) -> int:
        """Return the number of blocks at which there is something to decide, on the test's time or
        on what stands beside it.
        """
        extras = self._beside_of.get(track.benchmark.nodeid, ())
        decisions = (track.decision, *(extra.decision for extra in extras))
        looks = [d.next_look for d in decisions if d and d.next_look > len(track.blocks)]
        return max(min(looks, default=self._first_look(track)), track.least_blocks)

    def _block_s(self, track: Track) -> float:
        """Return what a block of the test takes: as planned, at the pace of its own blocks or else
        of all; or as an earlier scout lets expect.
        """
        if track.plan is not None:
            pace = track.pace if track.planned_s else self._pace
            return pace * track.usual_s(track.plan)
        if track.scout is None:
            return USUAL_BLOCK_S
        seen = track.scout.seen
        plan = choose_plan(seen, track.benchmark.spec, self._cores)
        return track.scout.seconds + block_seconds(plan, seen) - seen.first_ns / 1e9

    def _all_need_s(self) -> float | None:
        """Return what all tests need here, with what the budget is needed for besides; those that
        nobody has seen as much as the others. None: none was seen.
        """
        tracks = [
            track
            for track in self.tracks.values()
            if not (track.failure or track.is_same_code or track.skipped is not None)
        ]
        known = [track for track in tracks if track.plan]
        if not known:
            return None
        needs = (self._need(t, blocks=self._whole_blocks(t)) for t in known)
        blocks_s = BlockForecast(self._blocks.block_s).plus(needs).seconds
        scouts_s = sum(track.scouted_s for track in known)
        return self._besides_s() + (scouts_s + blocks_s) * len(tracks) / len(known)

    def _whole_blocks(self, track: Track) -> int:
        """Return how many blocks the test needs in all."""
        if not track.blocks:
            return self._blocks_until(track, USUAL_LOOK) if track.open else 0
        return self._next_look(track) if track.open or track.cut_off else len(track.blocks)

    # -- blocks ---------------------------------------------------------------------------

    def _shares(self, orders: Sequence[Order], index: int) -> list[list[Order]]:
        """Return the orders of each of the blocks that are played at once. A test has a part in as
        many of them as it needs until there is something to decide, or in all where starting their
        workers takes longer than the tests: the next look comes sooner. One that needs the machine
        for itself is in one of them, on another core each time. All sizes of a test are in the same
        blocks.
        """
        lanes = self._blocks.lanes
        tests_s = sum(self._block_s(self.tracks[order.nodeid]) for order in orders)
        in_all = tests_s < self._blocks.startup_s
        turn = index // lanes % lanes
        shares: list[list[Order]] = [[] for _ in range(lanes)]
        loads_s = [0.0] * lanes
        by_name = {order.nodeid: order for order in orders}
        for unit in self._units:
            own = [track for track in unit if track.benchmark.nodeid in by_name]
            asked = [by_name[track.benchmark.nodeid] for track in own]
            chosen = [turn]
            if lanes > 1 and all(order.kind.shares_machine for order in asked):
                wanted = max((self._next_look(t) - len(t.blocks) for t in own), default=1)
                by_load = sorted(range(lanes), key=lambda k: (loads_s[k], (k - turn) % lanes))
                chosen = by_load[: lanes if in_all else max(1, wanted)]
            for k in chosen:
                shares[k] += asked
                loads_s[k] += sum(map(self._block_s, own))
        return [self._lengthened(share) for share in shares]

    def _run_blocks(self, index: int, shares: Sequence[Sequence[Order]]) -> None:
        startup_s = self._budget.startup_deadline_s()
        plans = [{order.nodeid: order.plan for order in share} for share in shares]
        for played in self._blocks.run(index, shares, self._open_orders(), startup_s):
            plan = plans[played.index - index][played.nodeid]
            self._take_block(self.tracks[played.nodeid], played, plan)
            if self._budget.left_s() <= 0:
                break
        for track in self.tracks.values():
            if track.open and track.blocks:
                self._judge(track, exhausted=False)
        self._judge_extras(exhausted=False)
        tracks = self.tracks.values()
        if planned_s := sum(track.planned_s for track in tracks):
            # Compiling may be over with the scouts; but others may be slower than these.
            self._pace = SLACK * sum(track.spent_s for track in tracks) / planned_s
        self._show_progress(index + len(shares) - 1)

    def _open_orders(self) -> list[Order]:
        """Return an order for each test that the next workers may be told to run."""
        return [
            self._order(t, t.plan) if t.plan else self._scout_order(t)
            for t in self.tracks.values()
            if t.open
        ]

    def _scout_order(self, track: Track) -> Order:
        b = track.benchmark
        return b.order(min(self._budget.scout_deadline_s(), b.timeout_s))

    def _order(self, track: Track, plan: Plan) -> Order:
        b = track.benchmark
        expected_s = track.expected_s(plan)
        # A block makes far more calls than the job that a test's own timeout is meant for.
        deadline_s = min(self._budget.block_deadline_s(expected_s), b.timeout_s + expected_s)
        return b.order(deadline_s, plan)

    def _lengthened(self, orders: Sequence[Order]) -> list[Order]:
        """Return the orders with more pairs where their workers take longer to come up than the
        tests in them: then those cost little, and make the block more precise.
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
        partner, known = _partner_report(played), track.scouted_ns or track.differences
        scouts = _note_scouts(track, played, partner)
        self._plan(track, reduce(Scouted.worst, (s.seen for s in scouts)), played.seconds, partner)
        if not known:
            track.runs_same_code(self._same_code, played.runs)

    def _recall(self, track: Track, record: ScoutRecord) -> None:
        """Take what an earlier run has seen: as a guess, or where the partner allows it for this
        run's own scout. Where starts are judged, a scout has to compile what the first block would.
        """
        track.scout = record
        if self._partner.recalls(record.speeds) and not track.benchmark.spec.starts:
            track.recalled = True
            self._plan(track, record.seen, record.seconds, record.speeds)

    def _plan(self, track: Track, seen: Scouted, seconds: float, report: Report | None) -> None:
        track.seen, track.scouted_s = seen, seconds
        plan = choose_plan(seen, track.benchmark.spec, self._cores)
        track.plan = self._partner.plan(plan, seen, report)

    def _take_block(self, track: Track, played: Played, plan: Plan | None) -> None:
        track.cost += played.cost
        # A block that was played at the same time may have ended the test, or its plan.
        if not track.open or track.plan is None or plan is None:
            return
        track.spent_s += played.seconds
        track.planned_s += track.usual_s(plan)
        if not track.both_ran(played.runs):
            return
        head, partner = played.runs[0].report, _partner_report(played)
        assert isinstance(head, Measurement)
        if track.recalled:
            if track.scout is None or not track.scout.bears_out(head.block):
                track.forget_scout()
                return
            track.recalled, track.steps = False, head.steps
            track.note_imported(played.runs)
        if not self._check_work(track, head.block.work, partner):
            return
        block = self._partner.block(head.block, partner)
        block = replace(block, core=played.core, steal=played.steal, index=played.index)
        if not track.blocks and track.plan.alone:
            assert track.seen is not None
            track.plan = settled(track.plan, track.seen, block)
        if (plan.mode, plan.calls) != (track.plan.mode, track.plan.calls):
            return  # those of two plans would be no sample of one change
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
        comparison = self._comparison(track)
        if comparison is not None and track.blocks:
            track.ratios = comparison.ratios(track.block_ratios)
            decision = decide(track.ratios, self._gate(track), exhausted)
            track.decision = decision if comparison.judged else replace(decision, outcome=None)
        judged = comparison is not None and comparison.judged
        if track.other_work is None and not judged:
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
        if not self._interrupted:
            self._close_unreached()
        self._judge_extras(exhausted=True)

    def _close_unreached(self) -> None:
        """Say of tests that have no block which budget would have reached them."""
        all_need_s = self._all_need_s()
        if all_need_s is not None and any(t.open or t.cut_off for t in self.tracks.values()):
            self.needed_s = self._budget.advised_s(all_need_s)
        for track in self.tracks.values():
            if track.open and not track.blocks:
                track.ended = Ended.not_measured("it", self._budget.seconds, self.needed_s)

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

    def _show_progress(self, blocks: int = 0, scouted: bool = False) -> None:
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
                needed_s=self._all_need_s() if blocks or scouted else None,
            )
        )


def _note_scouts(track: Track, played: Played, partner: Report | None = None) -> list[ScoutReport]:
    """Note what the scouts saw of a test, and return it. Reference kernels that did not play are as
    fast as in an earlier run.
    """
    scouts = [run.report for run in played.runs if isinstance(run.report, ScoutReport)]
    speeds = partner if isinstance(partner, KernelSpeeds) else None
    if speeds is None and track.scout is not None:
        speeds = track.scout.speeds
    head = scouts[0]
    track.scout = ScoutRecord(head.seen, played.seconds, speeds)
    track.scouted_ns = tuple(scout.seen.call_ns for scout in scouts)
    track.steps, track.first_call_ns = head.steps, head.seen.first_ns
    track.note_imported(played.runs)
    return scouts


def _keep_together(tracks: Sequence[Track]) -> None:
    """Let all of these tests be measured where one of them is: they are judged together, too."""
    if any(track.open for track in tracks):
        for track in tracks:
            if track.is_same_code:
                track.ended = None


def _units(tracks: Iterable[Track]) -> list[list[Track]]:
    """Return the tests as they are begun: all sizes of one together, since its exponent needs
    blocks of all of them.
    """
    units: dict[str, list[Track]] = {}
    for track in tracks:
        b = track.benchmark
        units.setdefault(b.nodeid if b.input_size is None else b.family, []).append(track)
    return list(units.values())


def _partner_report(played: Played) -> Report | None:
    return played.runs[1].report if len(played.runs) > 1 else None
