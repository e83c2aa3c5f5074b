"""Measured MPI jobs, the terms that explain their time, and what these say of more nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from pytest_rlperf.model.rank_spec import Scaling


class Part(StrEnum):
    """Where the time of a job goes."""

    COMPUTING = "computing"
    WAITING = "waiting"  # for the slowest rank
    LATENCY = "latency"  # of messages, however short
    BANDWIDTH = "bandwidth"  # time that grows with the bytes


LOSSES = (Part.WAITING, Part.LATENCY, Part.BANDWIDTH)


class Collective(StrEnum):
    """How all ranks get what each of them has to say."""

    ALLGATHERV = "allgatherv"  # all of it: its sizes first, then itself, by recursive doubling
    RING = "ring"  # all of it: its sizes first, then itself from neighbour to neighbour
    ALLREDUCE = "allreduce"  # only the sum: reduce-scatter, then allgather


@dataclass(frozen=True, slots=True)
class MeasuredJob:
    """One training over MPI, as its JSON tells it."""

    name: str  # of its file, or of the test
    workload: str  # jobs of one workload compute equally fast
    ranks: int
    steps: int  # of all ranks together
    seconds: float
    sync_seconds: float  # of these: exchanging, and waiting for others to do so
    bytes_sent: int  # by all ranks together; what goes to three others counts three times
    syncs: int  # times that all ranks met

    @property
    def steps_of_rank(self) -> float:
        return self.steps / self.ranks

    @property
    def computing_s(self) -> float:
        return self.seconds - self.sync_seconds

    @property
    def period(self) -> float:
        """Steps of a rank between two synchronisations; for a job that exchanged."""
        return self.steps_of_rank / self.syncs

    @property
    def sent_a_sync(self) -> float:
        """Bytes of one rank, to all others; for a job that exchanged."""
        return self.bytes_sent / self.ranks / self.syncs

    @property
    def exchanged(self) -> bool:
        return self.ranks > 1

    @property
    def contradiction(self) -> str | None:
        """Between its own figures; None: there is none."""
        if self.sync_seconds >= self.seconds:
            return f"synchronised for {self.sync_seconds:g} of {self.seconds:g} s"
        if self.exchanged and not (self.syncs and self.bytes_sent and self.sync_seconds):
            return (
                f"has {self.ranks} ranks, {self.syncs} synchronisations, {self.bytes_sent} bytes "
                f"sent and {self.sync_seconds:g} s for it"
            )
        return None


@dataclass(frozen=True, slots=True)
class Network:
    """What an exchange costs beyond the computing that it can hide behind."""

    latency_s: float  # a message
    byte_s: float  # a byte
    overlap: float = 0.0  # share of the computing between two exchanges that hides this one


@dataclass(frozen=True, slots=True)
class Terms:
    """All that the time of a job is made of."""

    step_s: float  # computing a step on one rank
    waiting: float  # share of computing, for the slower of two ranks
    networks: tuple[Network, ...]  # one after the other


@dataclass(frozen=True, slots=True)
class Fitted:
    value: float
    low: float | None = None  # of the 95 % interval; None: too few jobs for one
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """The model beside a job that was measured."""

    job: MeasuredJob
    error: float  # modelled time over measured time, less 1
    left_out: float | None  # the same from all other jobs; None: they do not tell all terms


@dataclass(frozen=True, slots=True)
class Fit:
    """Computing and latency by workload: packing its table is part of the latter."""

    collective: Collective
    step_s: Mapping[str, Fitted]
    latency_s: Mapping[str, Fitted]
    byte_s: Fitted
    waiting: Fitted
    jobs: tuple[Checked, ...]

    def network(self, workload: str) -> Network:
        """As the jobs had it: what they overlapped is not seen, and so not counted."""
        return Network(self.latency_s[workload].value, self.byte_s.value)

    def terms(self, workload: str, *networks: Network) -> Terms:
        """With the fitted network, or with others."""
        found = networks or (self.network(workload),)
        return Terms(self.step_s[workload].value, self.waiting.value, found)


@dataclass(frozen=True, slots=True)
class Plan:
    """The job that is projected, one rank a node."""

    scaling: Scaling
    steps: int  # strong: of the whole job; weak: of each rank
    period: float  # steps of a rank between two synchronisations
    collective: Collective
    sent: tuple[tuple[float, float], ...]  # measured periods, and bytes a rank had to say in each

    def steps_of_rank(self, nodes: int) -> float:
        return self.steps / nodes if self.scaling is Scaling.STRONG else float(self.steps)

    def every(self, period: float) -> Self:
        return replace(self, period=period)


@dataclass(frozen=True, slots=True)
class Point:
    """A job of so many nodes, held against one rank that computes as fitted and never waits."""

    nodes: int
    steps: float  # of the whole job
    seconds: float
    efficiency: float
    parts: Mapping[Part, float]  # seconds; empty where it was measured, which does not tell them

    @property
    def modelled(self) -> bool:
        return bool(self.parts)

    @property
    def speedup(self) -> float:
        return self.nodes * self.efficiency

    @property
    def limit(self) -> Part | None:
        """The part that costs most efficiency; None where none does, or it is not known."""
        lost = {part: self.parts.get(part, 0.0) for part in LOSSES}
        worst = max(lost, key=lambda part: lost[part])
        return worst if lost[worst] > 0 else None


@dataclass(frozen=True, slots=True)
class Ahead:
    """What is modelled of a number of nodes with one set of terms."""

    point: Point
    period: int | None  # the shortest at which the target holds; None: no target, or none does


@dataclass(frozen=True, slots=True)
class Row:
    nodes: int
    expected: Ahead
    at_least: Ahead | None  # the fitted exchange on top of a stated network; None: none is stated


@dataclass(frozen=True, slots=True)
class Projection:
    """Of one workload."""

    workload: str
    plan: Plan
    measured: tuple[Point, ...]  # jobs of that sync period, and those of one rank
    rows: tuple[Row, ...]
    target: float | None  # efficiency that is to hold
