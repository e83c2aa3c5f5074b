"""Whom a test plays with: nobody, another revision of itself, or the reference kernels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_rlperf.baselines.levels import Level, kernel_ratios
from pytest_rlperf.model.block import Block, LogRatios, Reference, SideBlock
from pytest_rlperf.model.plan import Plan, Scouted
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.stats.decide import Gate
from pytest_rlperf.stats.estimate import log_ratios
from pytest_rlperf.stats.verdicts import Ended
from pytest_rlperf.wire import KernelSpeeds, Measurement, Report
from pytest_rlperf.workers.planning import with_kernels

BlockRatios = Mapping[str, LogRatios]
"""Head's time in one block over that of each partner: the base, or every reference kernel."""

BASE = "base"

THRESHOLD_AGAINST = 0.05
THRESHOLD_STORED = 0.10
SOLO_BLOCKS = 5
"""Without a partner there is no verdict to reach: enough blocks to show value and spread."""
SAVE_BLOCKS = 24
"""The blocks of a saved session: eight in each state of the machine (see `worker.disturbance`)."""


class Comparison(Protocol):
    """How one test is held against its partner."""

    @property
    def label(self) -> str | None:
        """Return what a reader has to know about the comparison; None: nothing."""
        ...

    @property
    def judged(self) -> bool:
        """Return whether the change is judged, and not shown only."""
        ...

    def block_ratios(self, block: Block) -> BlockRatios:
        """Return head's time over each partner's in one block."""
        ...

    def ratios(self, blocks: Sequence[BlockRatios]) -> list[LogRatios]:
        """Return head's time over the partner's in all blocks so far."""
        ...

    def gate(self, allowed: float, tests: int, blocks: Sequence[BlockRatios]) -> Gate:
        """Return the gate of one of so many tests, which is wider where the partner is blurred."""
        ...

    def unit(self, blocks: Sequence[BlockRatios]) -> Mapping[str, float]:
        """Return the weights of the reference kernels that it is judged in, if it is."""
        ...


class Partner(Protocol):
    """What a campaign asks of the side that is not head; `report` is what that side said."""

    @property
    def least_blocks(self) -> int:
        """Return how many blocks are wanted of every test, decided or not."""
        ...

    def plan(self, plan: Plan, seen: Scouted, report: Report | None) -> Plan:
        """Return the plan of a test, given what the scouts saw."""
        ...

    def recalls(self, speeds: KernelSpeeds | None) -> bool:
        """Return whether a plan may rest on what the scout of an earlier run saw."""
        ...

    def block(self, head: SideBlock, report: Report | None) -> Block:
        """Return what both sides measured as one block."""
        ...

    def work(self, nodeid: str, report: Report | None) -> Mapping[str, float] | None:
        """Return the counts that head's must equal; None: there are none."""
        ...

    def allowed(self, spec: Spec) -> float:
        """Return the slowdown that a test may have."""
        ...

    def comparison(self, nodeid: str) -> Comparison | None:
        """Return what this test is compared by; None: there is nothing to compare it with."""
        ...

    def enough(self, nodeid: str, blocks: int, exhausted: bool) -> Ended | None:
        """Return why a test that is not judged is done, if it is; exhausted: it must be."""
        ...


def gate_of(
    partner: Partner, nodeid: str, spec: Spec, tests: int, blocks: Sequence[BlockRatios] = ()
) -> Gate:
    """Return the gate of one of so many tests."""
    comparison, allowed = partner.comparison(nodeid), partner.allowed(spec)
    return Gate(allowed, tests) if comparison is None else comparison.gate(allowed, tests, blocks)


def blocks_until(partner: Partner, nodeid: str, spec: Spec, look: int) -> int:
    """Return how many blocks a test has at one of its looks, or where there is nothing to compare
    it with, when its value and spread can be shown.
    """
    alone = partner.comparison(nodeid) is None
    blocks = SOLO_BLOCKS if alone else Gate(partner.allowed(spec)).looks[look]
    return max(blocks, partner.least_blocks)


@dataclass(frozen=True, slots=True)
class Alone:
    """Nothing to compare with: show value and spread."""

    threshold: float | None = None
    least_blocks: int = 0

    def plan(self, plan: Plan, seen: Scouted, report: Report | None) -> Plan:
        return plan

    def recalls(self, speeds: KernelSpeeds | None) -> bool:
        return True

    def block(self, head: SideBlock, report: Report | None) -> Block:
        return Block(head)

    def work(self, nodeid: str, report: Report | None) -> None:
        return None

    def allowed(self, spec: Spec) -> float:
        return _threshold(spec, self.threshold, THRESHOLD_AGAINST)

    def comparison(self, nodeid: str) -> None:
        return None

    def enough(self, nodeid: str, blocks: int, exhausted: bool) -> Ended | None:
        return Ended.alone() if blocks >= (1 if exhausted else SOLO_BLOCKS) else None


@dataclass(frozen=True, slots=True)
class WithBase:
    """A test held against the same test of the base revision, in the same slices."""

    label: str | None = None
    judged: bool = True

    def block_ratios(self, block: Block) -> BlockRatios:
        return {BASE: log_ratios(block)}

    def ratios(self, blocks: Sequence[BlockRatios]) -> list[LogRatios]:
        return [ratios[BASE] for ratios in blocks]

    def gate(self, allowed: float, tests: int, blocks: Sequence[BlockRatios]) -> Gate:
        return Gate(allowed, tests)

    def unit(self, blocks: Sequence[BlockRatios]) -> Mapping[str, float]:
        return {}


@dataclass(frozen=True, slots=True)
class BaseRevision:
    """Another revision of the same code."""

    threshold: float | None = None
    least_blocks: int = 0

    def plan(self, plan: Plan, seen: Scouted, report: Report | None) -> Plan:
        return plan

    def recalls(self, speeds: KernelSpeeds | None) -> bool:
        return False  # nobody has seen the base, which may be another one by now

    def block(self, head: SideBlock, report: Report | None) -> Block:
        assert isinstance(report, Measurement)
        return Block(head, report.block)

    def work(self, nodeid: str, report: Report | None) -> Mapping[str, float] | None:
        return report.block.work if isinstance(report, Measurement) else None

    def allowed(self, spec: Spec) -> float:
        return _threshold(spec, self.threshold, THRESHOLD_AGAINST)

    def comparison(self, nodeid: str) -> Comparison:
        return WithBase()

    def enough(self, nodeid: str, blocks: int, exhausted: bool) -> Ended | None:
        return None


@dataclass(frozen=True, slots=True)
class WithLevel:
    """A test held against its stored level, by way of the reference kernels."""

    level: Level

    @property
    def label(self) -> str | None:
        return self.level.label

    @property
    def judged(self) -> bool:
        return self.level.foreign is None

    def block_ratios(self, block: Block) -> BlockRatios:
        return kernel_ratios(block)

    def ratios(self, blocks: Sequence[BlockRatios]) -> list[LogRatios]:
        unit = self.level.unit(blocks)
        return [unit.apart(ratios) for ratios in blocks]

    def gate(self, allowed: float, tests: int, blocks: Sequence[BlockRatios]) -> Gate:
        return Gate(max(allowed, self.level.floor), tests, self.level.unit(blocks).blur)

    def unit(self, blocks: Sequence[BlockRatios]) -> Mapping[str, float]:
        return self.level.unit(blocks).weights


@dataclass(frozen=True, slots=True)
class Kernels:
    """The reference kernels, which tell how a test's time stands to the stored one."""

    levels: Mapping[str, Level | Ended]  # by test: what is stored, or why it cannot be compared
    saving: bool = False
    threshold: float | None = None

    @property
    def least_blocks(self) -> int:
        return SAVE_BLOCKS if self.saving else 0

    def plan(self, plan: Plan, seen: Scouted, report: Report | None) -> Plan:
        assert isinstance(report, KernelSpeeds)
        return with_kernels(plan, seen, report.unit_ns)

    def recalls(self, speeds: KernelSpeeds | None) -> bool:
        return speeds is not None and not self.saving

    def block(self, head: SideBlock, report: Report | None) -> Block:
        assert isinstance(report, Measurement)
        return Block(head, reference=Reference(report.kernel_ns))

    def work(self, nodeid: str, report: Report | None) -> Mapping[str, float] | None:
        level = self.levels.get(nodeid)
        return level.work if isinstance(level, Level) else None

    def allowed(self, spec: Spec) -> float:
        return _threshold(spec, self.threshold, THRESHOLD_STORED)

    def comparison(self, nodeid: str) -> Comparison | None:
        level = self.levels.get(nodeid)
        return WithLevel(level) if isinstance(level, Level) else None

    def enough(self, nodeid: str, blocks: int, exhausted: bool) -> Ended | None:
        if not exhausted and blocks < max(SOLO_BLOCKS, self.least_blocks):
            return None
        level = self.levels.get(nodeid)
        if isinstance(level, Level):
            return level.foreign
        if isinstance(level, Ended):
            return level
        return Ended.alone() if blocks else None


def _threshold(spec: Spec, given: float | None, default: float) -> float:
    if spec.threshold is not None:
        return spec.threshold
    return default if given is None else given
