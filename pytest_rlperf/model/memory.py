"""The memory of a test: what is asked of a process, what it says, and what is said of that."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from pytest_rlperf.model.verdict import Interval, Outcome, Verdict

KIB = 1024
MIB = 1024 * KIB


class Pass(StrEnum):
    """A process is looked at in one way: tracing every allocation takes memory of its own."""

    RESIDENT = "resident"  # what the kernel counts
    TRACED = "traced"  # what Python's allocators are asked for
    EXACT = "exact"  # every allocation, as memray counts it


@dataclass(frozen=True, slots=True)
class Probe:
    """What a process is to do with the measured function."""

    look: Pass
    repeats: int  # calls of it

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return cls(Pass(data["look"]), data["repeats"])


class Rule(StrEnum):
    """Which limit a metric is held against."""

    RESIDENT = "resident"
    TRACED = "traced"
    GROWTH = "growth"
    RESIDENT_GROWTH = "resident growth"


@dataclass(frozen=True, slots=True)
class MemoryMetric:
    name: str
    unit: str
    rule: Rule | None = None  # None: shown, not judged


PEAK = MemoryMetric("peak_rss", "bytes", Rule.RESIDENT)
METRICS = (
    PEAK,
    MemoryMetric("uss", "bytes", Rule.RESIDENT),
    MemoryMetric("shared_memory", "bytes", Rule.RESIDENT),
    MemoryMetric("traced_peak", "bytes", Rule.TRACED),
    MemoryMetric("growth", "bytes/repeat", Rule.GROWTH),
    MemoryMetric("growth_rss", "bytes/repeat", Rule.RESIDENT_GROWTH),
    MemoryMetric("memray_peak", "bytes"),
    MemoryMetric("traced_blocks", "blocks"),
    MemoryMetric("gc_collections", "collections"),
    MemoryMetric("gc_pause", "ns"),
)
"""Of all of them less is better."""
JUDGED = tuple(metric for metric in METRICS if metric.rule is not None)


@dataclass(frozen=True, slots=True)
class Excess:
    """What is more by this share and by this amount is too much; either alone is not."""

    share: float
    amount: float  # bytes

    def above(self, base: float) -> float:
        """How many bytes more than `base` are allowed."""
        return max(self.share * base, self.amount)


@dataclass(frozen=True, slots=True)
class Limits:
    resident: Excess = Excess(0.20, MIB)
    traced: Excess = Excess(0.05, 64 * KIB)
    growth: float = float(KIB)  # bytes a repeat, of what Python holds
    growth_rss: float = 8.0 * KIB  # bytes a repeat, of what the kernel counts in pages

    def changed(self, given: Mapping[str, Any]) -> Self:
        """With other values for the fields that are `given`."""
        return replace(self, **given)

    def of(self, rule: Rule) -> Excess:
        match rule:
            case Rule.RESIDENT:
                return self.resident
            case Rule.TRACED:
                return self.traced
            case Rule.GROWTH:
                return Excess(0.0, self.growth)
            case Rule.RESIDENT_GROWTH:
                return Excess(0.0, self.growth_rss)


@dataclass(frozen=True, slots=True)
class ProcessPeak:
    """One process of a test's tree."""

    name: str
    peak_bytes: int  # more than it had before the calls


@dataclass(frozen=True, slots=True)
class Site:
    """A line, and what it allocated that was still there."""

    where: str
    size_bytes: int
    blocks: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one side's processes said beside their numbers: of the last one of each pass."""

    processes: tuple[ProcessPeak, ...] = ()
    segments: tuple[ProcessPeak, ...] = ()  # of shared memory, mapped after the calls
    left: tuple[str, ...] = ()  # segments that outlived the calls
    sites: tuple[Site, ...] = ()
    peak_sites: tuple[Site, ...] = ()  # what was there at the peak, where memray was asked
    exact: bool = True  # False: peaks before the calls could not be told from those in them
    curve: tuple[tuple[float, float], ...] = ()  # seconds, bytes of the tree: for the picture

    @property
    def is_upper_bound(self) -> bool:
        """Peaks of several processes need not have come at the same moment."""
        return len(self.processes) > 1


@dataclass(frozen=True, slots=True)
class MetricResult:
    """One metric, measured in fresh processes, and what is said of it."""

    metric: MemoryMetric
    head: tuple[float, ...]  # one a process
    value: float
    verdict: Verdict  # its interval is relative to the base; None where the base is zero
    base: tuple[float, ...] = ()
    base_value: float | None = None
    amount: Interval | None = None  # the change in the metric's unit
    threshold_abs: float | None = None


@dataclass(frozen=True, slots=True)
class MemoryResult:
    """All that is known of a test's memory."""

    metrics: tuple[MetricResult, ...]
    repeats: int
    head: Evidence = field(default_factory=Evidence)
    base: Evidence | None = None
    trouble: Verdict | None = None  # why nothing was measured

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Those on its metrics, or why there are none."""
        found = tuple(m.verdict for m in self.metrics if m.metric.rule is not None)
        return found if self.trouble is None else (self.trouble,)

    def metric(self, name: str) -> MetricResult | None:
        return next((found for found in self.metrics if found.metric.name == name), None)

    def of(self, *outcomes: Outcome) -> tuple[MetricResult, ...]:
        return tuple(found for found in self.metrics if found.verdict.outcome in outcomes)
