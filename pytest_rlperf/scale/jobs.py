"""Measured MPI jobs, the terms that explain their time, and what these say of more nodes.

A job is read from the JSON of one training, or is an MPI test in a result of `--rlperf-json` that
counts its synchronisations and bytes (`work=`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Self, TypedDict

from pytest_rlperf.model.spec import Scaling
from pytest_rlperf.reading import (
    Counting,
    Fits,
    Name,
    NotNegative,
    Positive,
    Whole,
    read_json,
    refuse,
    refusing,
    typed,
)
from pytest_rlperf.report.result_file import read_result


class TimePart(StrEnum):
    """The parts that the time of a job is made of."""

    COMPUTING = "computing"
    WAITING = "waiting"  # for the slowest rank
    LATENCY = "latency"  # of messages, however short
    BANDWIDTH = "bandwidth"  # time that grows with the bytes


LOSSES = (TimePart.WAITING, TimePart.LATENCY, TimePart.BANDWIDTH)


class Collective(StrEnum):
    """The way in which all ranks get what each of them has to say."""

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
    def sent_per_sync(self) -> float:
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
    """The terms that the time of a job is made of."""

    step_s: float  # computing a step on one rank
    waiting: float  # share of computing, for the slower of two ranks
    networks: tuple[Network, ...]  # one after the other


@dataclass(frozen=True, slots=True)
class FittedTerm:
    """A term with its interval."""

    value: float
    low: float | None = None  # of the 95 % interval; None: too few jobs for one
    high: float | None = None


@dataclass(frozen=True, slots=True)
class CheckedJob:
    """The model beside a job that was measured."""

    job: MeasuredJob
    error: float  # modelled time over measured time, less 1
    left_out: float | None  # the same from all other jobs; None: they do not tell all terms


@dataclass(frozen=True, slots=True)
class Fit:
    """The terms of all jobs, computing and latency (with packing its table) by workload."""

    collective: Collective
    step_s: Mapping[str, FittedTerm]
    latency_s: Mapping[str, FittedTerm]
    byte_s: FittedTerm
    waiting: FittedTerm
    jobs: tuple[CheckedJob, ...]

    def network(self, workload: str) -> Network:
        """Return the network as the jobs had it: what they overlapped is not seen, nor counted."""
        return Network(self.latency_s[workload].value, self.byte_s.value)

    def terms(self, workload: str, *networks: Network) -> Terms:
        """Return the terms of a workload, with the fitted network or with others."""
        chosen = networks or (self.network(workload),)
        return Terms(self.step_s[workload].value, self.waiting.value, chosen)


@dataclass(frozen=True, slots=True)
class ScalePlan:
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
class ProjectedPoint:
    """A job of so many nodes, held against one rank that computes as fitted and never waits."""

    nodes: int
    steps: float  # of the whole job
    seconds: float
    efficiency: float
    parts: Mapping[TimePart, float]  # seconds; empty: a measured job does not tell them

    @property
    def modelled(self) -> bool:
        return bool(self.parts)

    @property
    def speedup(self) -> float:
        return self.nodes * self.efficiency

    @property
    def limit(self) -> TimePart | None:
        """The part that costs most efficiency; None where none does, or it is not known."""
        lost = {part: self.parts.get(part, 0.0) for part in LOSSES}
        worst = max(lost, key=lambda part: lost[part])
        return worst if lost[worst] > 0 else None


@dataclass(frozen=True, slots=True)
class Forecast:
    """A model of so many nodes with one set of terms."""

    point: ProjectedPoint
    period: int | None  # the shortest at which the target holds; None: no target, or none does


@dataclass(frozen=True, slots=True)
class ProjectedRow:
    """The forecasts for one number of nodes."""

    nodes: int
    expected: Forecast
    at_least: Forecast | None  # fitted exchange on top of a stated network; None: none stated


@dataclass(frozen=True, slots=True)
class Projection:
    """The jobs of one workload, measured and modelled."""

    workload: str
    plan: ScalePlan
    measured: tuple[ProjectedPoint, ...]  # jobs of that sync period, and those of one rank
    rows: tuple[ProjectedRow, ...]
    target: float | None  # efficiency that is to hold


# -- the JSON of trainings ----------------------------------------------------------------------

"""Jobs that agree in `env`, `agent` and `compression` compute and pack alike."""


class JobRow(TypedDict):
    ranks: Counting
    steps: Counting
    seconds: Positive
    sync_seconds: NotNegative
    bytes_sent: Whole
    syncs: Whole
    sync_period: Annotated[float, Fits(lambda steps: steps >= 1)]
    steps_per_sync: int | None  # None: the period was adapted
    env: Name | None
    agent: Name | None
    compression: Name | None


ANEW = (
    "name the JSON of MPI jobs, which tells ranks, steps, seconds, sync_seconds, syncs, "
    "sync_period and bytes_sent"
)
ONE_MORE = 0.25, 2
"""A period may leave this share of synchronisations, and so many, unexplained: a job that begins
and ends with one has more than its steps say."""


def read_jobs(path: Path) -> list[MeasuredJob]:
    """Read what MPI jobs say of themselves, or say in one sentence why a file holds no such job."""
    content = read_json(path, ANEW)
    if isinstance(content, dict) and "schema" in content:
        return _jobs_of_result(path)
    if not isinstance(content, dict) or "ranks" not in content:
        refuse(path, "tells of no MPI job", ANEW)
    with refusing(path, ANEW):
        row = typed(JobRow, content)
    chosen = row["steps_per_sync"] is not None
    return [_checked(path, _job(str(path), row), row["sync_period"] if chosen else None)]


def _job(name: str, content: JobRow) -> MeasuredJob:
    words = (content["env"], content["agent"], content["compression"])
    return MeasuredJob(
        name=name,
        workload=" ".join(word for word in words if word) or "the jobs",
        ranks=content["ranks"],
        steps=content["steps"],
        seconds=float(content["seconds"]),
        sync_seconds=float(content["sync_seconds"]),
        bytes_sent=content["bytes_sent"],
        syncs=content["syncs"],
    )


def _checked(path: Path, job: MeasuredJob, period: float | None) -> MeasuredJob:
    wrong = job.contradiction
    if wrong is None and period is not None and job.exchanged:
        wrong = _period_contradiction(job, period)
    if wrong is not None:
        refuse(path, f"contradicts itself: it {wrong}", ANEW)
    return job


def _period_contradiction(job: MeasuredJob, period: float) -> str | None:
    share, count = ONE_MORE
    expected = job.steps_of_rank / period
    if abs(job.syncs - expected) <= share * expected + count:
        return None
    return (
        f"synchronised {job.syncs} times in {job.steps_of_rank:.0f} steps of a rank, "
        f"and every {period:g} of them"
    )


# -- results of --rlperf-json -------------------------------------------------------------------

WORK = {"syncs", "bytes_sent"}
"""Of a test, summed over the ranks."""


def _jobs_of_result(path: Path) -> list[MeasuredJob]:
    timed = [(test, _time_ns(test)) for test in read_result(path)["tests"] if _is_counted(test)]
    jobs = [_job_of_test(test, time_ns / 1e9) for test, time_ns in timed if time_ns is not None]
    if not jobs:
        what = "holds no MPI test that declares steps, and syncs and bytes_sent as work"
        refuse(path, what, "name the JSON of trainings over MPI, or declare them in the test")
    return [_checked(path, job, None) for job in jobs]


def _is_counted(test: Mapping[str, Any]) -> bool:
    """Return whether the test is such a job; others in the same result have nothing to say."""
    ranks, work = test.get("ranks"), test["work"]
    counted = work.keys() >= WORK and min(work[name] for name in WORK) >= 0
    return counted and bool(ranks and ranks["communication"]) and bool(test["steps"])


def _time_ns(test: Mapping[str, Any]) -> float | None:
    return next((m["value"] for m in test["metrics"] if m["name"] == "time"), None)


def _job_of_test(test: Mapping[str, Any], seconds: float) -> MeasuredJob:
    ranks = test["ranks"]["nprocs"]
    return MeasuredJob(
        name=test["nodeid"],
        workload=test["nodeid"].replace(f"nprocs={ranks}", "nprocs=*"),
        ranks=ranks,
        steps=test["steps"],
        seconds=seconds,
        sync_seconds=seconds * fmean(test["ranks"]["communication"]),
        bytes_sent=round(test["work"]["bytes_sent"]),
        syncs=round(test["work"]["syncs"] / ranks),
    )
