"""How a block measures one benchmark, the same on both sides, and what that is chosen by."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from pytest_rlperf.model.profile import Profiling


class Mode(StrEnum):
    """The order in which the two sides of a block run."""

    SLICED = "sliced"  # the sides take turns, one short slice each
    CONCURRENT = "concurrent"  # both run at once on one core; the kernel interleaves them
    LIVE = "live"  # whole jobs of several processes take turns on several cores


@dataclass(frozen=True, slots=True)
class Scouted:
    """What one side's scout saw of a benchmark, to choose a plan by."""

    call_ns: float  # own time of one call, after the first
    first_ns: float  # the first call: compiling and cold caches included
    cpu_share: float  # CPU time over own time: well below one means it waits
    processes: int  # processes the call keeps busy, this one included
    has_setup: bool = False  # fresh state is made for every call
    setup_ns: float = 0.0  # making it
    rounds: int = 0  # that the test itself counts; 0: it leaves the number of calls to the plan
    iterations: int = 1  # calls a round
    warmup: int = 0  # untimed rounds before the others
    exchanges: int | None = None  # calls of the communicator in a call; None: it is no MPI test
    hosted: bool = False  # other threads of its process compute what it returns
    accelerated: bool = False  # and here a device besides the cores does

    def worst(self, other: Self) -> Self:
        """Return the worse of two sides in each respect: a plan for both has to reckon with it."""
        return type(self)(
            call_ns=max(self.call_ns, other.call_ns),
            first_ns=max(self.first_ns, other.first_ns),
            cpu_share=min(self.cpu_share, other.cpu_share),
            processes=max(self.processes, other.processes),
            has_setup=self.has_setup or other.has_setup,
            setup_ns=max(self.setup_ns, other.setup_ns),
            rounds=max(self.rounds, other.rounds),
            iterations=max(self.iterations, other.iterations),
            warmup=max(self.warmup, other.warmup),
            exchanges=_most(self.exchanges, other.exchanges),
            hosted=self.hosted or other.hosted,
            accelerated=self.accelerated or other.accelerated,
        )


def _most(one: int | None, other: int | None) -> int | None:
    known = [count for count in (one, other) if count is not None]
    return max(known, default=None)


@dataclass(frozen=True, slots=True)
class Plan:
    """Slices of one benchmark in one block."""

    mode: Mode
    calls: int  # calls a slice
    pairs: int  # slices a side
    warmup: int  # untimed calls before the slices
    alone: int = 0  # calls before the slices for which each side has the core to itself
    exclusive: bool = False  # no other block is played meanwhile: it would take the caches
    cores: int = 1
    abreast: bool = False  # concurrent sides do not meet between slices
    wall: bool = False  # judge wall time as it is, waiting for a core included
    hosted: bool = False  # judge CPU time of all threads: the calling one waits for others
    exact: bool = False  # the test counts its calls: there must be neither more nor fewer
    imports: tuple[str, ...] = ()  # modules to be imported in a process of their own
    first_call: bool = False  # the first untimed call is timed after all, on its own
    kernels: tuple[tuple[str, int], ...] = ()  # the reference's, with their calls a round
    kernel_rounds: int = 1  # a slice in turns: all kernels, each time in another order
    profile: Profiling = Profiling.NOTHING  # what its slices are watched for; then none is judged
    lines_of: str = ""  # the function whose lines are timed, `file:name` or a name alone

    def __post_init__(self) -> None:
        if min(self.calls, self.pairs, self.cores) < 1 or min(self.warmup, self.alone) < 0:
            raise ValueError(f"a plan needs at least one call, pair and core: {self}")
        if self.abreast and self.mode is not Mode.CONCURRENT:
            raise ValueError(f"sides that take turns meet at each: {self}")
        if self.first_call and not self.warmup:
            raise ValueError(f"the first call is one before the slices: {self}")

    @property
    def without_starts(self) -> Self:
        """The same plan for a process whose start is not measured."""
        return replace(self, imports=(), first_call=False)


SETUP_CALLS_MAX = 1_000
"""With `setup`, the states of all calls of a slice are alive at once."""
MOST_CALLS = 10_000_000
