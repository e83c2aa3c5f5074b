"""The memory of tests: rounds of fresh processes until every metric is decided or time is up.

Before the timing and apart from it, so that neither disturbs the other and timing knows what is
left; what needs longer goes on after it. A test is begun where the time left carries it to a look.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_rlperf.baselines.levels import MemoryLevel
from pytest_rlperf.gate.budget import BlockForecast, Budget, Need, fitting
from pytest_rlperf.gate.track import Benchmark, Track
from pytest_rlperf.memory.judge import LOOKS, Sizes, decided, judged
from pytest_rlperf.memory.probe import is_installed
from pytest_rlperf.memory.runs import MemoryPlayed, MemoryRuns, Points
from pytest_rlperf.metrics.times import with_time_verdict
from pytest_rlperf.model.block import LEAST_BLOCKS, Spending
from pytest_rlperf.model.memory import JUDGED, METRICS, Evidence, Limits, MemoryResult, Pass, Probe
from pytest_rlperf.model.metric import KINDS, PEAK, Metric, MetricKind, Outcome, Verdict
from pytest_rlperf.model.result import Progress, TestResult
from pytest_rlperf.stats.decide import Decision
from pytest_rlperf.stats.verdicts import Ended
from pytest_rlperf.wire import MemoryReport
from pytest_rlperf.workers.side import State

SCOUT_REPEATS = 3
MOST_REPEATS = 30
LEAST_REPEATS = 2
CALLS_S = 2.0
"""The time for the calls of one process: it makes as many as fit, since a slope is the better for
each."""
MOST_ROUNDS = 2 * LOOKS[-1]
NAMES = tuple(KINDS)
UPPER_BOUND = "upper bound: the sum of the peaks of several processes"
INEXACT = "peaks before the calls included: the kernel's mark cannot be set back here"


@dataclass(slots=True)
class MemoryTrack:
    """The memory of one test in a campaign, which fills this process by process."""

    track: Track  # how it fails, is skipped, or has trouble on the base
    level: MemoryLevel | Ended | None  # what is stored of it, or why that is no use
    repeats: int = 0  # 0: not scouted yet
    scouted_s: float = 0.0
    round_s: float = 0.0  # what the last one took
    spent_s: float = 0.0  # in all of them
    head: dict[str, list[float]] = field(default_factory=dict)  # by metric, one a process
    base: dict[str, list[float]] = field(default_factory=dict)
    curves: tuple[Points, ...] = ()  # by side
    evidence: list[Evidence] = field(default_factory=lambda: [Evidence(), Evidence()])  # by side
    decisions: dict[str, Decision] = field(default_factory=dict)

    @property
    def benchmark(self) -> Benchmark:
        return self.track.benchmark

    @property
    def rounds(self) -> int:
        """Return how many processes of head were measured."""
        return max((len(sizes) for sizes in self.head.values()), default=0)

    def wants(self, metric: MetricKind) -> bool:
        """Return whether more processes are wanted for this metric."""
        decision = self.decisions.get(metric.name)
        if decision is None:  # nothing to compare with: enough processes to show its spread
            return len(self.head.get(metric.name, ())) < LEAST_BLOCKS
        return decision.outcome is None

    @property
    def open(self) -> bool:
        return self.track.open and self.rounds < MOST_ROUNDS and bool(list(self.passes()))

    @property
    def rounds_wanted(self) -> int:
        """Return how many more tell something."""
        looks = [d.next_look for d in self.decisions.values() if d.outcome is None]
        return max(1, min(looks, default=LOOKS[0]) - self.rounds)

    @property
    def whole_s(self) -> float:
        """Return what it needs in all, as far as is known."""
        more = self.rounds_wanted if self.open else 0
        return self.scouted_s + (self.rounds + more) * self.round_s

    def passes(self) -> Iterator[Pass]:
        """Yield the passes in which something that can be measured is undecided."""
        for pass_, names in PASSES.items():
            known = self.head.keys() & names if self.rounds else names
            if any(self.wants(metric) for metric in JUDGED if metric.name in known):
                yield pass_


PASSES = {
    Pass.RESIDENT: frozenset({"peak_rss", "uss", "shared_memory", "growth_rss"}),
    Pass.TRACED: frozenset({"traced_peak", "growth"}),
}
"""The judged metrics that each pass measures."""


class MemoryCampaign:
    """Runs tests to the verdicts on their memory."""

    def __init__(
        self,
        benchmarks: Sequence[Benchmark],
        runs: MemoryRuns,
        *,
        levels: Mapping[str, MemoryLevel | Ended],
        limits: Limits,
        gates: int,
        show: Callable[[Progress], None],
    ) -> None:
        """Prepare a campaign in which `gates` verdicts share the build's false-alarm budget, those
        on time included.
        """
        self.tracks = {b.nodeid: MemoryTrack(Track(b), levels.get(b.nodeid)) for b in benchmarks}
        self._runs = runs
        self._limits = limits
        self._gates = gates
        self._show = show
        self._number = 0  # of the round

    def run(self, budget: Budget) -> None:
        """Fill the tracks as far as the budget goes, from where they are; what was measured stays
        there whatever ends the run.
        """
        try:
            while budget.left_s() > 0 and (tracks := self._next(budget.left_s())):
                for track in tracks:
                    self._play(track, budget)
                    self._show_progress(budget)
                    if budget.left_s() <= 0:
                        break
                self._number += 1
            self._name_lines(budget)
        finally:
            self._runs.close()

    def close(self, budget_s: float, needed_s: float | None, interrupted: bool) -> None:
        """Judge all by what was measured, since there will be no more; `needed_s` would have done
        for those that the budget did not reach.
        """
        for track in [] if interrupted else self.unreached:
            track.track.ended = Ended.not_measured("its memory", budget_s, needed_s)
        for track in self.tracks.values():
            self._judge(track, exhausted=True)

    @property
    def unreached(self) -> list[MemoryTrack]:
        return [track for track in self.tracks.values() if track.open and not track.rounds]

    def needed_s(self) -> float:
        """Return what all tests need; those that nobody has seen as much as the others."""
        running = [t for t in self.tracks.values() if t.repeats or t.open]
        known = [track.whole_s for track in running if track.repeats]
        return sum(known) * len(running) / max(1, len(known))

    def _next(self, left_s: float) -> list[MemoryTrack]:
        """Return a track to be scouted, as long as those that are known leave time for one more; or
        else the tracks that can come to their next look.
        """
        known = [track for track in self.tracks.values() if track.open and track.repeats]
        fit = fitting(
            known,
            lambda t: [Need(t.benchmark.order(0.0).kind, t.rounds_wanted, t.round_s)],
            BlockForecast(lambda kind, seconds: seconds),
            left_s,
            urgent=lambda t: t.rounds < LOOKS[0],
        )
        unknown = [track for track in self.tracks.values() if track.open and not track.repeats]
        usual_s = self.needed_s() / max(1, len(self.tracks))
        taken_s = sum(track.rounds_wanted * track.round_s for track in fit)
        if unknown and len(fit) == len(known) and taken_s + usual_s <= left_s:
            return unknown[:1]
        return fit

    # -- measuring ----------------------------------------------------------------------------

    def _play(self, track: MemoryTrack, budget: Budget) -> None:
        if not track.repeats:
            self._scout(track, budget)
            return
        taken_s = 0.0
        for pass_ in list(track.passes()):
            played = self._run(track, Probe(pass_, track.repeats), budget)
            taken_s += played.seconds
            if not track.track.both_ran(played.runs):
                return
            self._take(track, played)
        track.round_s = taken_s
        self._judge(track, exhausted=False)

    def _scout(self, track: MemoryTrack, budget: Budget) -> None:
        """See how long a call takes, so that all processes of both sides make equally many."""
        played = self._run(track, Probe(Pass.RESIDENT, SCOUT_REPEATS), budget, scout=True)
        if not track.track.both_ran(played.runs) or track.track.runs_same_code(
            self._runs.same_code, played.runs
        ):
            return
        track.scouted_s, track.curves = played.seconds, played.curves
        track.round_s = 2 * played.seconds
        stored = track.level.repeats if isinstance(track.level, MemoryLevel) else None
        track.repeats = stored or repeats_for(max(report.call_s for report in _reports(played)))

    def _name_lines(self, budget: Budget) -> None:
        """Name the lines at the peak of tests that have grown, where memray is installed."""
        for track in self.tracks.values():
            decisions = track.decisions.values()
            grown = any(decision.outcome is Outcome.REGRESSED for decision in decisions)
            named = any(evidence.peak_sites for evidence in track.evidence)
            if grown and not named and is_installed() and budget.left_s() > track.round_s:
                played = self._run(track, Probe(Pass.EXACT, track.repeats), budget)
                # The verdict stands without it.
                if all(run.state is State.RAN and run.report for run in played.runs):
                    self._take(track, played)

    def _run(
        self, track: MemoryTrack, probe: Probe, budget: Budget, scout: bool = False
    ) -> MemoryPlayed:
        deadline_s = budget.block_deadline_s(max(track.round_s, CALLS_S))
        order = track.benchmark.order(deadline_s, probe=probe)
        played = self._runs.run(self._number, order, budget.startup_deadline_s(), scout)
        track.spent_s += played.seconds
        return played

    def _take(self, track: MemoryTrack, played: MemoryPlayed) -> None:
        """Note what the processes of both sides report."""
        sides = (track.head, track.base)
        for number, report in enumerate(_reports(played)):
            for name, size in report.values.items():
                sides[number].setdefault(name, []).append(float(size))
            track.evidence[number] = _combined(track.evidence[number], report)

    # -- judging ------------------------------------------------------------------------------

    def _judge(self, track: MemoryTrack, exhausted: bool) -> None:
        for sizes in self._sizes(track):
            decision = decided(sizes, self._limits_of(track), self._gates, exhausted)
            name = sizes.metric.name
            if decision is not None and track.wants(sizes.metric):
                track.decisions[name] = decision

    def _limits_of(self, track: MemoryTrack) -> Limits:
        return self._limits.changed(track.benchmark.spec.memory or {})

    def _sizes(self, track: MemoryTrack) -> Iterator[Sizes]:
        """Yield what both sides, or head and its level, have of each metric."""
        for metric in METRICS:
            head = tuple(track.head.get(metric.name, ()))
            if not head:
                continue
            if self._runs.paired:
                yield Sizes(metric, head, tuple(track.base.get(metric.name, ())))
            else:
                yield _against_stored(metric, head, track.level)

    def attached(self, nodeid: str, timed: TestResult | None) -> TestResult:
        """Return the result of a test with what is known of its memory; `timed` is None where its
        time is not measured.
        """
        memory = self.tracks[nodeid]
        track, b = memory.track, memory.track.benchmark
        curves = (*memory.curves, [], [])
        head, base = (
            replace(evidence, curve=tuple(curve))
            for evidence, curve in zip(memory.evidence, curves, strict=False)
        )
        metrics = self._metrics(memory, head)
        test = timed or TestResult(
            nodeid, b.spec, source_hash=b.source_hash, repeat_command=b.repeat_command
        )
        test = replace(
            test,
            metrics=tuple(sorted((*test.metrics, *metrics), key=lambda m: NAMES.index(m.name))),
            cost=(test.cost or Spending()) + Spending(memory=memory.spent_s),
            memory=MemoryResult(
                repeats=memory.repeats,
                head=head,
                base=base if self._runs.paired else None,
                trouble=None if metrics or track.failure else _trouble(track),
            ),
        )
        if track.failure is None and track.skipped is None:
            return test
        test = replace(test, failure=track.failure, skipped=track.skipped)
        return with_time_verdict(test, test.worst)

    def _metrics(self, track: MemoryTrack, head: Evidence) -> tuple[Metric, ...]:
        limits = self._limits_of(track)
        metrics = (
            judged(sizes, limits, track.decisions.get(sizes.metric.name))
            for sizes in self._sizes(track)
        )
        return tuple(_labelled(m, head) if m.name == PEAK else m for m in metrics)

    def _show_progress(self, budget: Budget) -> None:
        done = sum(not track.open for track in self.tracks.values())
        self._show(
            Progress(
                decided=done,
                tests=len(self.tracks),
                blocks=self._number,
                widest=None,
                elapsed_s=budget.elapsed_s(),
                budget_s=budget.seconds,
                label="memory",
            )
        )


def repeats_for(call_s: float) -> int:
    """Return how many calls a process makes, given what one takes."""
    return max(LEAST_REPEATS, min(MOST_REPEATS, int(CALLS_S / max(call_s, 1e-9))))


def _against_stored(
    metric: MetricKind, head: tuple[float, ...], level: MemoryLevel | Ended | None
) -> Sizes:
    if isinstance(level, Ended):
        return Sizes(metric, head, ended=level)
    if level is None or metric.name not in level.values:
        return Sizes(metric, head)
    ended = level.ended_for(metric)
    return Sizes(metric, head, level.values[metric.name], stored=True, ended=ended)


def _trouble(track: Track) -> Verdict:
    """Return why nothing is known of the memory of a test."""
    if track.ended is not None:
        return Verdict(track.ended.outcome, track.ended.reason)
    reason = "the run was interrupted before its memory was measured; run it again"
    return Verdict(Outcome.INCONCLUSIVE, reason)


def _reports(played: MemoryPlayed) -> list[MemoryReport]:
    return [run.report for run in played.runs if isinstance(run.report, MemoryReport)]


def _labelled(peak: Metric, evidence: Evidence) -> Metric:
    """Return the peak with how its number came about, where that matters."""
    labels = [UPPER_BOUND] if evidence.is_upper_bound else []
    labels += [] if evidence.exact else [INEXACT]
    return replace(peak, verdict=replace(peak.verdict, label="; ".join(labels) or None))


def _combined(evidence: Evidence, report: MemoryReport) -> Evidence:
    """Return the evidence with what the newest process of a pass said of it."""
    new = report.evidence
    match report.look:
        case Pass.RESIDENT:
            return replace(new, sites=evidence.sites, peak_sites=evidence.peak_sites)
        case Pass.TRACED:
            return replace(evidence, sites=new.sites)
        case Pass.EXACT:
            return replace(evidence, peak_sites=new.peak_sites)
