"""Starts of fresh processes that a test asks for, followed through a campaign."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_rlperf.judge.decide import Decision, Gate, decide
from pytest_rlperf.judge.starts import start_block, start_gate, start_key, start_metric
from pytest_rlperf.judge.verdicts import Ended
from pytest_rlperf.model.block import Block
from pytest_rlperf.model.extra import ExtraMetric
from pytest_rlperf.run.partners import Partner, Told
from pytest_rlperf.run.track import Track


@dataclass(slots=True)
class Start:
    """One metric of a fresh process of one test."""

    name: str
    track: Track
    decision: Decision | None = None

    @property
    def tracks(self) -> Sequence[Track]:
        """Whose blocks it needs."""
        return (self.track,)

    @property
    def told_with(self) -> Track:
        return self.track

    def judge(self, partner: Partner, gates: int, exhausted: bool) -> bool:
        """Whether more blocks are wanted."""
        if self._trouble(partner) is not None:
            return False
        told = [partner.told(block) for block in self._blocks]
        gate = self._gate(partner, gates, told)
        self.decision = decide(partner.ratios(self._key, told), gate, exhausted)
        return self.decision.outcome is None

    def metric(self, partner: Partner, interrupted: bool) -> ExtraMetric:
        label = partner.label(self._key)
        return start_metric(
            self.name,
            self._blocks,
            self._trouble(partner) or self.decision,
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

    def _gate(self, partner: Partner, gates: int, told: Sequence[Told] = ()) -> Gate:
        spec = self.track.benchmark.spec
        return start_gate(partner.gate(self._key, spec, gates, told), spec)

    def _trouble(self, partner: Partner) -> Ended | None:
        """Why there is nothing to compare."""
        track = self.track
        if track.failure is not None or track.skipped is not None or partner.judges(self._key):
            return track.ended or track.other_work
        return partner.enough(self._key, len(track.blocks), exhausted=True)


def starts(tracks: Iterable[Track]) -> list[Start]:
    return [Start(name, track) for track in tracks for name in track.benchmark.spec.starts]
