"""Why a test takes longer: what two profiles say about it."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from pytest_rlperf.model.profile import Function


class Source(StrEnum):
    """What comparing the two trees says of a function whose time moved."""

    UNKNOWN = ""  # it lies in neither tree
    SAME = "same"
    CHANGED = "changed"


class Spot(NamedTuple):
    """A line at head."""

    file: str  # relative to the tree
    line: int


@dataclass(frozen=True, slots=True)
class Count:
    """How often something is called by one call of the benchmark."""

    base: float
    head: float
    certain: bool  # the same in every process of a side

    @property
    def changed(self) -> bool:
        return self.certain and self.base != self.head


@dataclass(frozen=True, slots=True)
class Cause:
    """A function that accounts for part of a change."""

    function: Function
    share: float  # of the change
    change_ns: float  # a call of the benchmark
    calls: Count
    time_ratio: float | None  # head's time per call of it over the base's; None: not called there
    callees: tuple[tuple[str, Count], ...] = ()  # outside of the project, where the count changed
    source: Source = Source.UNKNOWN
    compiled: bool = False
    inlined: tuple[Function, ...] = ()  # changed functions that were compiled into it
    at: Spot | None = None  # its first line that changed, or that of the first of `inlined`


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """A line of a function on both sides; None: the line is not there, or never ran."""

    number: int | None  # at head
    text: str
    hits: float
    base_ns: float | None
    head_ns: float | None


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of one function, side by side."""

    function: str
    lines: tuple[ComparedLine, ...]


@dataclass(frozen=True, slots=True)
class Operator:
    """One of torch whose time moved, a call of the benchmark."""

    name: str
    base_calls: float
    head_calls: float
    base_ns: float
    head_ns: float

    @property
    def change_ns(self) -> float:
        return self.head_ns - self.base_ns


@dataclass(frozen=True, slots=True)
class Explanation:
    """Empty `causes` blame nobody; `note` says why."""

    causes: tuple[Cause, ...] = ()
    pairs: int = 0  # of fresh processes that were profiled
    change: float | None = None  # of time under the profiler, a fraction
    computing: float = 1.0  # share of head's time that is no waiting
    note: str | None = None
    graph: Path | None = None  # differential flame graph
    lines: Lines | None = None
    operators: tuple[Operator, ...] = ()  # of torch; they overlap with `causes`
