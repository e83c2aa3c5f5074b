"""What a profile of one side holds: plain data, as a worker sends it and a judge reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Self


class Profiling(StrEnum):
    """What the slices of a block are watched for."""

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
    """What a function calls that is not the project's: a native function, or a library's."""

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
    source: Sequence[str]
    lines: Mapping[int, LineCost]

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        lines = {int(number): LineCost(*cost) for number, cost in facts["lines"].items()}
        return cls(facts["first"], tuple(facts["source"]), lines)
