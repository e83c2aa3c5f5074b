"""The memory of a test: what is asked of a process, what it says, and what is said of that."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self, cast

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.metric import KINDS, MetricFamily, Rule, Verdict
from pytest_rlperf.model.quantity import parse_bytes, parse_fraction

KIB = 1024
MIB = 1024 * KIB


class Pass(StrEnum):
    """A process is looked at in one way: tracing every allocation takes memory of its own."""

    RESIDENT = "resident"  # what the kernel counts
    TRACED = "traced"  # what Python's allocators are asked for
    EXACT = "exact"  # every allocation, as memray counts it


@dataclass(frozen=True, slots=True)
class Probe:
    """An order to a process: how to look at the measured function, and how often to call it."""

    look: Pass
    repeats: int  # calls of it


METRICS = tuple(kind for kind in KINDS.values() if kind.family is MetricFamily.MEMORY)
JUDGED = tuple(kind for kind in METRICS if kind.rule is not None)


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

    def changed(self, given: Mapping[str, Excess | float]) -> Self:
        """Return the limits with other values for the fields that are `given`."""
        return replace(self, **cast(Any, given))

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
class MemoryResult:
    """The evidence beside the metrics of a test's memory."""

    repeats: int
    head: Evidence = field(default_factory=Evidence)
    base: Evidence | None = None
    trouble: Verdict | None = None  # why nothing was measured


# -- limits as people write them: `"20%,1MiB"`, or `"1KiB"` for what grows ----------------------

EXCESSES = ("resident", "traced")
AMOUNTS = ("growth", "growth_rss")
KEYS = (*EXCESSES, *AMOUNTS)
"""The fields of `Limits`."""


def parse_limit(key: str, value: str | float, name: str) -> Excess | float:
    """What the field `key` of `Limits` is to be; `name` is what the user calls it."""
    if key in AMOUNTS:
        return parse_bytes(value, name)
    share, comma, amount = str(value).partition(",")
    if not comma:
        raise UsageError(
            f"{name} is {value!r}; write a share and an amount, such as 20%,1MiB: memory must be "
            "more by both to be too much."
        )
    return Excess(parse_fraction(share, name), parse_bytes(amount, name))


def parse_limits(given: Mapping[str, str | float], name: str) -> dict[str, Excess | float]:
    """Return the limits that a mapping in a marker sets, by field."""
    for key in given:
        if key not in KEYS:
            known = ", ".join(KEYS)
            raise UsageError(f"{name} has no limit {key!r}; there are {known}.")
    return {key: parse_limit(key, value, f"{name}[{key!r}]") for key, value in given.items()}
