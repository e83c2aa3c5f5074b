"""What a test asks for, and how its blocks are measured: the same on both sides.

A `Spec` is what a test says about itself by the keywords of `@pytest.mark.rlperf`, and of
`@pytest.mark.rlperf_mpi` beside them. A `Plan` follows from it and from what a scout saw.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Self

from pytest_rlperf.model.memory import Excess
from pytest_rlperf.model.metric import FIRST_CALL, IMPORT_TIME
from pytest_rlperf.model.profile import Profiling

# -- what a test asks for -------------------------------------------------------------------------


class Scaling(StrEnum):
    STRONG = "strong"  # the same work over more ranks
    WEAK = "weak"  # the same work on each of more ranks


@dataclass(frozen=True, slots=True)
class RankSpec:
    """How an MPI test wants its jobs to be run and judged."""

    nprocs: tuple[int, ...] = (2,)  # sizes of its jobs, each a test of its own
    timeout: float = 60.0  # seconds for a job, and beyond what the calls of a block should take
    scaling: Scaling = Scaling.STRONG  # strong: the ranks share the work; weak: each has as much
    gate_oversubscribed: bool = False  # judge efficiency with more ranks than cores too

    @property
    def plain(self) -> int:
        """The size of the job in a run that checks results only: the least that communicates."""
        return min((n for n in self.nprocs if n > 1), default=1)


RANK_KEYWORDS = tuple(f.name for f in fields(RankSpec))


@dataclass(frozen=True, slots=True)
class Spec:
    """How one benchmark wants to be measured and judged; the defaults suit most tests."""

    category: str | None = None  # a name to select and to sum up by
    steps: int | None = None  # environment or training steps in one call
    threshold: float | None = None  # allowed slowdown, a fraction; None: the run's
    kpi: tuple[str, ...] = ()  # names of the KPIs it stands for; `name:without` is the partner
    threads: int = 1  # threads the libraries may use, and cores the test gets
    waits: bool = False  # sleeps or does I/O by design: judged on wall time
    warmup: int | None = None  # untimed calls before the first slice of a block; None: chosen
    iterations: int | None = None  # timed calls a block and side; None: chosen
    memory: Mapping[str, Excess | float] | None = None  # limits of its own; None: not measured
    imports: tuple[str, ...] = ()  # modules whose import is timed too, in fresh processes
    first_call: bool = False  # the first call of a fresh process is timed too
    sizes: tuple[float, ...] = ()  # of its input, each a test of its own
    metadata: Mapping[str, Any] = field(default_factory=dict)  # kept in the result as it is

    @property
    def starts(self) -> tuple[str, ...]:
        """The names of the metrics of a fresh process that the test asks for."""
        return (IMPORT_TIME,) * bool(self.imports) + (FIRST_CALL,) * self.first_call


KEYWORDS = tuple(f.name for f in fields(Spec))


# -- how a block measures it ----------------------------------------------------------------------


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
