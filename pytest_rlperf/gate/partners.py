"""Whom a test plays with: nobody, another revision of itself, or the reference kernels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_rlperf.baselines.levels import Level, kernel_ratios
from pytest_rlperf.model.block import (
    Block,
    DeviceFacts,
    LogRatios,
    RankFacts,
    Reference,
    SideBlock,
)
from pytest_rlperf.model.plan import Plan, Scouted
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.stats.decide import Gate
from pytest_rlperf.stats.estimate import log_ratios
from pytest_rlperf.stats.verdicts import Ended
from pytest_rlperf.workers.planning import with_kernels

Facts = Mapping[str, Any]
Told = Mapping[str, LogRatios]
"""By what head's time is over."""

BASE = "base"

THRESHOLD_AGAINST = 0.05
THRESHOLD_STORED = 0.10
SOLO_BLOCKS = 5
"""Without a partner there is no verdict to reach: enough blocks to show value and spread."""
SAVE_BLOCKS = 24
"""Of a saved session: eight in each state of the machine (see `measure.shaker`)."""


class Partner(Protocol):
    """What a campaign asks of the side that is not head."""

    @property
    def tests(self) -> bool:
        """Whether it runs the tests too, so that it can fail and do other work than head."""
        ...

    def plan(self, nodeid: str, spec: Spec, plan: Plan, seen: Scouted, facts: Facts | None) -> Plan:
        """The plan of a test, given what the scouts saw; `facts` are this side's."""
        ...

    def block(self, head: SideBlock, facts: Facts | None, plan: Plan) -> Block: ...

    def work(self, nodeid: str, facts: Facts | None) -> Mapping[str, float] | None:
        """The counts that head's must equal; None: there are none."""
        ...

    def judges(self, nodeid: str) -> bool:
        """Whether there is something to compare this test with."""
        ...

    def told(self, block: Block) -> Told:
        """Head's time in a block of a test that is judged, over all it can be held against."""
        ...

    def ratios(self, nodeid: str, told: Sequence[Told]) -> list[LogRatios]:
        """Head's time over the partner's, in all blocks so far."""
        ...

    def gate(self, nodeid: str, spec: Spec, tests: int, told: Sequence[Told] = ()) -> Gate: ...

    def enough(self, nodeid: str, blocks: int, exhausted: bool) -> Ended | None:
        """Why a test that cannot be judged is done, if it is; exhausted: it must be."""
        ...

    def label(self, nodeid: str) -> str | None:
        """What to know about a comparison."""
        ...

    def unit(self, nodeid: str, told: Sequence[Told]) -> Mapping[str, float]:
        """The weights of the reference kernels it is judged in, if it is."""
        ...

    @property
    def least_blocks(self) -> int:
        """Wanted of every test, decided or not."""
        ...


@dataclass(frozen=True, slots=True)
class Alone:
    """Nothing to compare with: show value and spread."""

    threshold: float | None = None
    tests: bool = False
    least_blocks: int = 0

    def plan(self, nodeid: str, spec: Spec, plan: Plan, seen: Scouted, facts: Facts | None) -> Plan:
        return plan

    def block(self, head: SideBlock, facts: Facts | None, plan: Plan) -> Block:
        return Block(head)

    def work(self, nodeid: str, facts: Facts | None) -> None:
        return None

    def judges(self, nodeid: str) -> bool:
        return False

    def told(self, block: Block) -> Told:
        raise NotImplementedError

    def ratios(self, nodeid: str, told: Sequence[Told]) -> list[LogRatios]:
        raise NotImplementedError

    def gate(self, nodeid: str, spec: Spec, tests: int, told: Sequence[Told] = ()) -> Gate:
        return Gate(_threshold(spec, self.threshold, THRESHOLD_AGAINST), tests)

    def enough(self, nodeid: str, blocks: int, exhausted: bool) -> Ended | None:
        return Ended.alone(blocks) if exhausted or blocks >= SOLO_BLOCKS else None

    def label(self, nodeid: str) -> None:
        return None

    def unit(self, nodeid: str, told: Sequence[Told]) -> Mapping[str, float]:
        return {}


@dataclass(frozen=True, slots=True)
class BaseRevision:
    """Another revision of the same code."""

    threshold: float | None = None
    tests: bool = True
    least_blocks: int = 0

    def plan(self, nodeid: str, spec: Spec, plan: Plan, seen: Scouted, facts: Facts | None) -> Plan:
        return plan

    def block(self, head: SideBlock, facts: Facts | None, plan: Plan) -> Block:
        assert facts is not None
        return Block(head, side_block(facts, plan))

    def work(self, nodeid: str, facts: Facts | None) -> Mapping[str, float] | None:
        return None if facts is None else facts["work"]

    def judges(self, nodeid: str) -> bool:
        return True

    def told(self, block: Block) -> Told:
        return {BASE: log_ratios(block)}

    def ratios(self, nodeid: str, told: Sequence[Told]) -> list[LogRatios]:
        return [ratios[BASE] for ratios in told]

    def gate(self, nodeid: str, spec: Spec, tests: int, told: Sequence[Told] = ()) -> Gate:
        return Gate(_threshold(spec, self.threshold, THRESHOLD_AGAINST), tests)

    def enough(self, nodeid: str, blocks: int, exhausted: bool) -> Ended | None:
        return None

    def label(self, nodeid: str) -> None:
        return None

    def unit(self, nodeid: str, told: Sequence[Told]) -> Mapping[str, float]:
        return {}


@dataclass(frozen=True, slots=True)
class Kernels:
    """The reference kernels, which tell how a test's time stands to the stored one."""

    levels: Mapping[str, Level | Ended]  # by test: what is stored, or why it cannot be compared
    saving: bool = False
    threshold: float | None = None
    tests: bool = field(default=False, init=False)

    @property
    def least_blocks(self) -> int:
        return SAVE_BLOCKS if self.saving else 0

    def plan(self, nodeid: str, spec: Spec, plan: Plan, seen: Scouted, facts: Facts | None) -> Plan:
        assert facts is not None
        return with_kernels(plan, seen, facts["unit_ns"])

    def block(self, head: SideBlock, facts: Facts | None, plan: Plan) -> Block:
        assert facts is not None
        call_ns = {name: tuple(taken) for name, taken in facts["kernel_ns"].items()}
        return Block(head, reference=Reference(call_ns))

    def work(self, nodeid: str, facts: Facts | None) -> Mapping[str, float] | None:
        level = self._level(nodeid)
        return level.work if level else None

    def judges(self, nodeid: str) -> bool:
        return self._level(nodeid) is not None

    def told(self, block: Block) -> Told:
        return kernel_ratios(block)

    def ratios(self, nodeid: str, told: Sequence[Told]) -> list[LogRatios]:
        level = self._level(nodeid)
        assert level is not None
        unit = level.unit(told)
        return [unit.apart(ratios) for ratios in told]

    def gate(self, nodeid: str, spec: Spec, tests: int, told: Sequence[Told] = ()) -> Gate:
        level = self._level(nodeid)
        allowed = _threshold(spec, self.threshold, THRESHOLD_STORED)
        if level is None:
            return Gate(allowed, tests)
        return Gate(max(allowed, level.floor), tests, level.unit(told).blur)

    def enough(self, nodeid: str, blocks: int, exhausted: bool) -> Ended | None:
        if not exhausted and blocks < max(SOLO_BLOCKS, self.least_blocks):
            return None
        level = self.levels.get(nodeid)
        return level if isinstance(level, Ended) else Ended.alone(blocks)

    def label(self, nodeid: str) -> str | None:
        level = self._level(nodeid)
        return level.label if level else None

    def unit(self, nodeid: str, told: Sequence[Told]) -> Mapping[str, float]:
        level = self._level(nodeid)
        return level.unit(told).weights if level else {}

    def _level(self, nodeid: str) -> Level | None:
        level = self.levels.get(nodeid)
        return level if isinstance(level, Level) else None


def _threshold(spec: Spec, given: float | None, default: float) -> float:
    if spec.threshold is not None:
        return spec.threshold
    return default if given is None else given


def side_block(facts: Facts, plan: Plan) -> SideBlock:
    return SideBlock(
        own_ns=tuple(facts["own_ns"]),
        wall_ns=tuple(facts["wall_ns"]),
        cpu_ns=tuple(facts["cpu_ns"]),
        calls=plan.calls,
        work=facts["work"],
        preempted=facts["preempted"],
        ranks=_ranks(facts.get("ranks")),
        starts_ns=facts.get("starts_ns", {}),
        phases=facts.get("phases", {}),
        device=_device(facts, plan),
    )


def _ranks(facts: Facts | None) -> RankFacts | None:
    return None if facts is None else RankFacts(**{name: tuple(v) for name, v in facts.items()})


def _device(facts: Facts, plan: Plan) -> DeviceFacts | None:
    device = facts.get("device")
    if device is None:
        return None
    if not device["on_host"]:
        return DeviceFacts(device["name"], device["utilisation"])
    # CPU time tells how busy the cores were.
    busy = sum(facts["cpu_ns"]) / (plan.cores * max(1, sum(facts["wall_ns"])))
    return DeviceFacts(device["name"], min(1.0, busy))
