"""Measurements: a block is one fresh process a side; phases and drifts are seen within blocks.
What measuring takes is counted here, too.
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import Annotated, Self

from pytest_rlperf.model.metric import Interval
from pytest_rlperf.reading import Fits

LEAST_BLOCKS = 3
"""The least number of blocks that have a usable spread."""


MOST_LOG_RATIO = 50.0
"""A call of thirty thousand years, in nanoseconds: nothing was measured beyond it."""
LogRatio = Annotated[float, Fits(lambda ratio: abs(ratio) <= MOST_LOG_RATIO)]
Weight = Annotated[float, Fits(lambda weight: 0 <= weight <= 1)]


@dataclass(frozen=True, slots=True)
class RankFacts:
    """Times and memory of each rank of a job, in their order."""

    own_ns: tuple[float, ...]  # of all its slices
    communication: tuple[float, ...]  # share of a slice inside calls of the communicator
    peak_bytes: tuple[float, ...]  # resident memory

    @property
    def imbalance(self) -> float:
        """How much longer than on average the busiest rank computes, a fraction."""
        computing = [
            own * (1 - share) for own, share in zip(self.own_ns, self.communication, strict=True)
        ]
        mean = sum(computing) / len(computing)
        return max(computing) / mean - 1 if mean > 0 else 0.0


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """A device that goes on computing after a call has returned."""

    name: str
    utilisation: float | None  # share of the slices, or of the last of them, that it was busy


@dataclass(frozen=True, slots=True)
class SideBlock:
    """One side's slices of one benchmark in one block.

    Own time is wall time less the time spent waiting for a core: what the code itself
    took, computing or blocked, whatever else ran on the machine.
    """

    own_ns: tuple[int, ...]  # one a slice
    wall_ns: tuple[int, ...]
    cpu_ns: tuple[int, ...]
    calls: int  # a slice
    work: Mapping[str, float] = field(default_factory=dict)
    preempted: int = 0  # involuntary context switches during the slices
    ranks: RankFacts | None = None  # None: it is no MPI job
    starts_ns: Mapping[str, float] = field(default_factory=dict)  # of its fresh process, by metric
    phases: Mapping[str, float] = field(default_factory=dict)  # share of the time, by name
    device: DeviceFacts | None = None  # None: it computes in the thread that is timed
    alone_ns: float | None = None  # a call with the core to itself; None: nobody looked

    def __post_init__(self) -> None:
        if not self.own_ns or min(self.own_ns) <= 0:
            raise ValueError("a block needs slices that took time")

    @property
    def call_ns(self) -> float:
        return sum(self.own_ns) / (len(self.own_ns) * self.calls)


@dataclass(frozen=True, slots=True)
class Reference:
    """The reference kernels in one block."""

    call_ns: Mapping[str, tuple[float, ...]]  # one call of a kernel, own time, slice by slice

    def __post_init__(self) -> None:
        times = self.call_ns.values()
        if len({len(each) for each in times}) != 1 or min(map(min, times)) <= 0:
            raise ValueError("a reference needs a time of every kernel for every slice")


@dataclass(frozen=True, slots=True)
class LogRatios:
    """One block: log of head's time over the partner's, by the typical pair and by the sums."""

    typical: float
    total: float


@dataclass(frozen=True, slots=True)
class Block:
    """Both sides of one benchmark, measured at the same moment on the same core."""

    head: SideBlock
    base: SideBlock | None = None  # None: there was no base revision
    core: int | None = None  # None: this platform cannot pin
    index: int = 0  # of the block in its run: tests that share it met the same moments
    steal: float = 0.0  # share of the core's time the hypervisor took away
    reference: Reference | None = None


OUTSIDE = "outside of phases"


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """A named part of the measured function over all blocks; `OUTSIDE` is what no phase holds."""

    name: str
    share: float  # of head's time
    ns: float  # a call
    base_share: float | None = None  # None: there is no base, or it has no phases
    base_ns: float | None = None
    adds: Interval | None = None  # to the time of the whole call, a fraction of the base's
    moved: bool = False  # beyond doubt, and by enough to care


@dataclass(frozen=True, slots=True)
class SideDrift:
    """One side: the last of the slices that were looked at against the first of a block."""

    change: Interval
    matters: bool  # beyond doubt, and by enough to care


@dataclass(frozen=True, slots=True)
class Drift:
    """How the slices of a test get slower, or faster, as a block goes on."""

    slices: int  # looked at: as many as the shortest block has
    head: SideDrift
    base: SideDrift | None = None  # None: there is no base

    @property
    def sides(self) -> dict[str, SideDrift]:
        """The sides that were measured, by name."""
        base = {} if self.base is None else {"base": self.base}
        return {**base, "head": self.head}


@dataclass(frozen=True, slots=True)
class ReferenceTime:
    """A test's time over that of each reference kernel (log scale)."""

    edition: int  # of the kernels
    log_ratios: Mapping[str, LogRatio]
    weights: Mapping[str, Weight] = field(default_factory=dict)  # of its unit; empty: not chosen


# -- what measuring takes, in seconds by what they went to ---------------------------------------


@dataclass(frozen=True, slots=True)
class Spending:
    """The seconds of a run, of a test in it, or of one side of a block."""

    preparing: float = 0.0  # the base tree, builds and facts of the machine
    workers: float = 0.0  # starting and ending them, as far as the run waited for it
    scouting: float = 0.0
    fixtures: float = 0.0  # and the test's own lines around the measured call
    warmup: float = 0.0  # calls before the slices, compiling included
    waiting: float = 0.0  # for the partner, until it was ready or at its end, too
    slices: float = 0.0  # of both sides
    profiles: float = 0.0
    memory: float = 0.0
    learning: float = 0.0
    rest: float = 0.0

    def __add__(self, other: Self) -> Self:
        return type(self)(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    def __mul__(self, share: float) -> Self:
        return type(self)(*(share * part for part in astuple(self)))

    def within(self, seconds: float) -> Self:
        """Return the same parts with the rest of `seconds`."""
        parts = sum(astuple(self)) - self.rest
        return replace(self, rest=max(0.0, seconds - parts))
