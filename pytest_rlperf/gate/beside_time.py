"""What a campaign judges beside time: growth with the size of the input, and starts of processes.

Each follows its tests through the blocks and keeps them open as long as it wants more.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pytest_rlperf.gate.partners import BlockRatios, Partner, gate_of
from pytest_rlperf.gate.track import Track
from pytest_rlperf.metrics.exponent import ALLOWED, exponent_metric, slope_blur, slopes
from pytest_rlperf.metrics.times import start_block, start_gate, start_key, start_metric
from pytest_rlperf.model.block import Block, LogRatios
from pytest_rlperf.model.metric import GrowthCurve, Metric, Outcome
from pytest_rlperf.stats.decide import Decision, DifferenceGate, Gate, decide
from pytest_rlperf.stats.verdicts import Ended

SHORT_SLICE_NS = 100_000
"""Beginning and ending a slice, with caches that the other side has filled, took up to 6 µs."""

ByBlock = dict[int, float]
"""A number for each block, by the block's index."""


@dataclass(slots=True)
class Family:
    """The tracks of all sizes of one test, the smallest first."""

    tracks: Sequence[Track]
    decision: Decision | None = None

    @property
    def reported_with(self) -> Track:
        """Return the track of the largest size, in whose result the exponent stands."""
        return self.tracks[-1]

    def judge(self, partner: Partner, gates: int, exhausted: bool) -> bool:
        """Decide by the blocks so far; return whether more are wanted, each of all sizes."""
        if self._trouble(partner) is not None:
            return False
        typical = self._slopes(lambda track: _ratios(track, lambda r: r.typical))
        totals = self._slopes(lambda track: _ratios(track, lambda r: r.total))
        ratios = [LogRatios(typical[index], totals[index]) for index in typical]
        self.decision = decide(ratios, self._gate(partner, gates), exhausted)
        return self.decision.outcome is None

    def metric(self, partner: Partner, interrupted: bool) -> Metric:
        time = self.reported_with.decision
        head, base = (self._times(side) for side in (_head_times, _base_times))
        return exponent_metric(
            GrowthCurve(tuple(self._sizes), head, base),
            list(self._slopes(_head_times).values()),
            list(self._slopes(_base_times).values()),
            self._trouble(partner) or self.decision,
            largest=time.interval if time else None,
            scouted_base=self._scouted_base(),
        )

    def _times(self, side: Callable[[Track], ByBlock]) -> tuple[float, ...]:
        """Return the time of a call at each size; nothing where one was not measured."""
        sizes = [list(side(track).values()) for track in self.tracks]
        return tuple(math.exp(statistics.median(times)) for times in sizes) if all(sizes) else ()

    def _scouted_base(self) -> float | None:
        """Return the base's exponent by its scouts, where those tell more than its slices: where
        its calls are so short beside head's that a slice holds few of them, and its time is mostly
        that of beginning and ending it.
        """
        sides = [block.base for track in self.tracks for block in track.blocks]
        shortest = min((min(side.own_ns) for side in sides if side is not None), default=0)
        if not 0 < shortest < SHORT_SLICE_NS or any(len(t.scouted_ns) < 2 for t in self.tracks):
            return None
        return self._slopes(lambda track: {0: math.log(track.scouted_ns[1])})[0]

    @property
    def _sizes(self) -> list[float]:
        return [_size(track) for track in self.tracks]

    def _slopes(self, values: Callable[[Track], ByBlock]) -> ByBlock:
        return slopes({_size(track): values(track) for track in self.tracks})

    def _gate(self, partner: Partner, gates: int) -> DifferenceGate:
        tracks = [(track.benchmark, track.block_ratios) for track in self.tracks]
        blurs = [gate_of(partner, b.nodeid, b.spec, gates, ratios).blur for b, ratios in tracks]
        return DifferenceGate(ALLOWED, gates, slope_blur(self._sizes, blurs))

    def _trouble(self, partner: Partner) -> Ended | None:
        """Return why there is nothing to compare, if so."""
        for track in self.tracks:
            if cause := _trouble(track, partner):
                if cause.outcome is Outcome.NOT_MEASURED:  # no size was
                    return cause
                return Ended(cause.outcome, f"size {_size(track):g}: {cause.reason}")
        return None


def families(tracks: Iterable[Track]) -> list[Family]:
    """Return the families of all tests with a size; one that was selected alone tells nothing."""
    groups: dict[str, list[Track]] = {}
    for track in tracks:
        if track.benchmark.input_size is not None:
            groups.setdefault(track.benchmark.family, []).append(track)
    return [Family(sorted(sizes, key=_size)) for sizes in groups.values() if len(sizes) > 1]


def _size(track: Track) -> float:
    assert track.benchmark.input_size is not None
    return track.benchmark.input_size


def _ratios(track: Track, which: Callable[[LogRatios], float]) -> ByBlock:
    pairs = zip(track.blocks, track.ratios, strict=True)
    return {block.index: which(ratios) for block, ratios in pairs}


def _head_times(track: Track) -> ByBlock:
    return {block.index: math.log(block.head.call_ns) for block in track.blocks}


def _base_times(track: Track) -> ByBlock:
    return {b.index: math.log(b.base.call_ns) for b in track.blocks if b.base is not None}


def _trouble(track: Track, partner: Partner) -> Ended | None:
    if track.failure is not None:
        return Ended(Outcome.NO_BASELINE, "it failed")
    if track.skipped is not None:
        return Ended(Outcome.NO_BASELINE, "it was skipped")
    ended = track.ended or track.other_work
    if ended is None and partner.comparison(track.benchmark.nodeid) is None:
        return Ended(Outcome.NO_BASELINE, "measured, with nothing to compare with")
    return ended


@dataclass(slots=True)
class Start:
    """One metric of a fresh process of one test."""

    name: str
    track: Track
    decision: Decision | None = None

    @property
    def tracks(self) -> Sequence[Track]:
        """Return the tracks whose blocks it needs."""
        return (self.track,)

    @property
    def reported_with(self) -> Track:
        """Return the track in whose result the metric stands."""
        return self.track

    def judge(self, partner: Partner, gates: int, exhausted: bool) -> bool:
        """Decide by the blocks so far; return whether more are wanted."""
        comparison, trouble = partner.comparison(self._key), self._trouble(partner)
        if comparison is None or (trouble is not None and not trouble.shown):
            return False
        ratios = [comparison.block_ratios(block) for block in self._blocks]
        gate = self._gate(partner, gates, ratios)
        self.decision = decide(comparison.ratios(ratios), gate, exhausted)
        return trouble is None and self.decision.outcome is None

    def metric(self, partner: Partner, interrupted: bool) -> Metric:
        comparison = partner.comparison(self._key)
        label = None if comparison is None else comparison.label
        return start_metric(
            self.name,
            self._blocks,
            self.decision,
            self._trouble(partner),
            self._gate(partner, 1).threshold,
            labels=() if label is None else (label,),
            interrupted=interrupted,
        )

    @property
    def _key(self) -> str:
        return start_key(self.track.benchmark.nodeid, self.name)

    @property
    def _blocks(self) -> list[Block]:
        return [start_block(block, self.name) for block in self.track.blocks]

    def _gate(self, partner: Partner, gates: int, ratios: Sequence[BlockRatios] = ()) -> Gate:
        spec = self.track.benchmark.spec
        return start_gate(gate_of(partner, self._key, spec, gates, ratios), spec)

    def _trouble(self, partner: Partner) -> Ended | None:
        """Return why there is nothing to compare, if so."""
        track = self.track
        comparable = partner.comparison(self._key) is not None
        if track.failure is not None or track.skipped is not None or comparable or not track.blocks:
            return track.ended or track.other_work
        return partner.enough(self._key, len(track.blocks), exhausted=True)


def starts(tracks: Iterable[Track]) -> list[Start]:
    return [Start(name, track) for track in tracks for name in track.benchmark.spec.starts]
