"""What was measured: one block is one fresh process a side."""

from collections.abc import Mapping
from dataclasses import dataclass, field

LEAST_BLOCKS = 3
"""Fewer have no usable spread."""


@dataclass(frozen=True, slots=True)
class RankFacts:
    """What is known of each rank of a job, in their order."""

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
    """Of what goes on computing after a call has returned."""

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
