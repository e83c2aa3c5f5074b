"""Profiles as plain data: what the user wants profiled, what a worker sends of one side, and how
two sides explain why a test takes longer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple


class Profiling(StrEnum):
    """The closeness with which the slices of a block are watched."""

    NOTHING = ""
    FUNCTIONS = "functions"
    LINES = "lines"


class Function(NamedTuple):
    """A function by its file, relative to the tree where it lies in it, and qualified name."""

    file: str  # empty: it is a native function
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.name}" if self.file else self.name


class Callee(NamedTuple):
    """A function outside of the project that one of the project calls: native, or a library's."""

    calls: int
    ns: float  # in all profiled slices, with all that it called


class OperatorCost(NamedTuple):
    """An operator of torch, a call of the benchmark."""

    calls: float
    ns: float  # its own, on the host and on a device


@dataclass(frozen=True, slots=True)
class Cost:
    """One function on one side: its own code and what it calls outside of the project."""

    calls: int  # in all profiled slices together
    typical_ns: float  # a call of the benchmark, by the median slice
    mean_ns: float  # the same by the mean: it sees what only some slices spend
    compiled: bool = False  # machine code under a Python name: nothing inside it is seen
    caller: Function | None = None  # the one that calls it most
    callees: Mapping[str, Callee] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SideProfile:
    """One side in one fresh process."""

    functions: Mapping[Function, Cost]
    calls: int  # of the benchmark, in the profiled slices
    computing: float  # share of its time that it computes; the rest it waits
    stacks: Mapping[tuple[str, ...], float] = field(default_factory=dict)  # ns a call, sampled
    operators: Mapping[str, OperatorCost] = field(default_factory=dict)  # where torch has some

    def total_ns(self, mean: bool) -> float:
        return sum(cost.mean_ns if mean else cost.typical_ns for cost in self.functions.values())


@dataclass(frozen=True, slots=True)
class LineCost:
    """One line of one function on one side, a call of the benchmark."""

    hits: float
    ns: float


@dataclass(frozen=True, slots=True)
class LineProfile:
    """The lines of one function on one side in one process."""

    first: int  # line number
    source: tuple[str, ...]
    lines: Mapping[int, LineCost]


Key = tuple[str, str]
"""A function as the interpreter knows it: its file and its qualified name."""


@dataclass(frozen=True, slots=True)
class FunctionRecord:
    """One function over all profiled slices of one process."""

    key: Key
    calls: int
    typical_ns: float  # a call of the benchmark, by the median slice
    mean_ns: float
    compiled: bool
    natives: Mapping[str, Callee]
    callees: tuple[tuple[Key, Callee], ...]


@dataclass(frozen=True, slots=True)
class SlicesProfile:
    """What the watches of one process saw of its slices, named as the interpreter names it."""

    functions: tuple[FunctionRecord, ...] = ()
    calls: int = 0  # of the benchmark, in the slices whose functions were counted
    computing: float = 1.0
    stacks: tuple[tuple[tuple[Key, ...], float], ...] = ()  # with their ns a call, sampled
    operators: Mapping[str, OperatorCost] = field(default_factory=dict)
    lines: LineProfile | None = None  # None: the function whose lines are wanted never ran


class Source(StrEnum):
    """Whether the source of a function whose time moved differs between the two trees."""

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
class Edit:
    """A function whose source changed and that ran, or was compiled into one that did."""

    function: Function
    at: Spot | None  # its first line that changed
    diff: tuple[str, ...] = ()  # of its source, each line behind " ", "-" or "+"


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
    """An operator of torch whose time moved, a call of the benchmark."""

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
    """What two profiles say of a change; where `causes` blames nobody, `note` says why."""

    causes: tuple[Cause, ...] = ()
    pairs: int = 0  # of fresh processes that were profiled
    change: float | None = None  # of time under the profiler, a fraction
    computing: float = 1.0  # share of head's time that is no waiting
    note: str | None = None
    graph: Path | None = None  # differential flame graph
    lines: Lines | None = None
    operators: tuple[Operator, ...] = ()  # of torch; they overlap with `causes`
    edits: tuple[Edit, ...] = ()  # those of `causes` first
    sole: bool = False  # the only edit is the only difference between the sides that it meets
