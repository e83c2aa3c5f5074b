"""The result of a run: plain data, the same for every reporter.

It holds the tests with their metrics, what MPI jobs make of more ranks, the proof of the gate where
that was measured, and the numbers that a run ends with.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from pytest_rlperf.model.block import Block, Drift, PhaseResult, ReferenceTime, Spending
from pytest_rlperf.model.code import CodeChanges
from pytest_rlperf.model.environment import Environments
from pytest_rlperf.model.kpi import KpiResult
from pytest_rlperf.model.learning import LearningResult
from pytest_rlperf.model.memory import MemoryResult
from pytest_rlperf.model.metric import (
    COMPARED,
    PEAK,
    THROUGHPUT,
    TIME,
    Interval,
    Metric,
    Outcome,
    Severity,
    Verdict,
    badness,
)
from pytest_rlperf.model.plan import Plan
from pytest_rlperf.model.profile import Explanation
from pytest_rlperf.model.shard import Shard
from pytest_rlperf.model.spec import Scaling, Spec
from pytest_rlperf.reading import Name, NotNegative, Whole

Facts = Mapping[Name, Name | int | bool | None]
"""Facts of machine and libraries under which something was measured; older files have fewer."""


class Fingerprint(TypedDict, total=False):
    """Facts about machine, Python and libraries as a result holds them; older files have fewer, and
    so have systems that do not say.
    """

    cpu: str  # its name for people
    vendor: str
    family: str
    model: str
    stepping: str
    caches: str  # "L1d 48K, L1i 32K, L2 1024K"
    simd: str  # features that libraries choose their code by, in alphabetical order
    threads_per_core: int
    cores: int
    pinned_to: list[int]
    architecture: str
    system: str
    python: str
    python_build: str
    implementation: str
    libraries: dict[str, str]
    distributions: str | None  # a digest of all that is installed; None: it is not known
    surroundings: str  # a digest of options and variables, where baselines are stored
    threads: dict[str, int]  # by test
    addresses: str
    mpi: dict[str, object]  # of a run with MPI tests


OVERSUBSCRIBED = "oversubscribed"


@dataclass(frozen=True, slots=True)
class JobSize:
    """The job that one MPI test runs in."""

    nprocs: int
    scaling: Scaling = Scaling.STRONG
    oversubscribed: bool = False  # more ranks than cores
    gate_oversubscribed: bool = False
    timeout_s: float = math.inf  # for a job

    @property
    def gated(self) -> bool:
        """Ranks that share a core wait for each other in turns of the scheduler, whose length is
        no property of the code: such a job fails no build unless the test asks for it.
        """
        return self.gate_oversubscribed or not self.oversubscribed


@dataclass(frozen=True, slots=True)
class ScalingRow:
    """One size of a test; the smallest measured one is what the others are held against."""

    nodeid: str
    size: JobSize
    time_ns: float  # of a call, head's
    speedup: float  # over the smallest size; weak scaling: of work done in the same time
    efficiency: Metric  # speed-up over what the ranks added would allow; 1 is perfect
    throughput: float  # a second, of the whole job
    unit: str  # of what: "steps/s", or "calls/s" where the test declares no steps


@dataclass(frozen=True, slots=True)
class ScalingTable:
    test: str  # node id, with a star for the size
    scaling: Scaling
    rows: tuple[ScalingRow, ...]  # smallest first


# -- the gate itself, measured: verdicts on changes that are known ------------------------------


@dataclass(frozen=True, slots=True)
class Trial:
    """One verdict on a test whose change is known."""

    nodeid: Name
    source_hash: str
    injected: NotNegative  # share by which head was made slower; 0: both sides are the same
    threshold: NotNegative
    outcome: Outcome
    interval: Interval
    blocks: Whole
    seconds: NotNegative  # its part of the time that its round took
    created: Name
    commit: Name | None
    dirty: bool
    facts: Facts  # of machine, libraries and plugin: what it was measured under


@dataclass(frozen=True, slots=True)
class Rate:
    """`hits` of `n`, with the bounds of the true share."""

    hits: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.hits / self.n

    @property
    def bounds(self) -> tuple[float, float]:
        return self.low, self.high


@dataclass(frozen=True, slots=True)
class Figures:
    """The rates that the verdicts on one change at one threshold come to."""

    injected: float
    threshold: float
    slower: Rate  # called regressed
    faster: int  # called improved
    inconclusive: int
    covered: Rate  # the interval holds what was injected
    mean_change: float
    sd_change: float | None  # None: one verdict has none
    mean_seconds: float

    @property
    def n(self) -> int:
        return self.slower.n


@dataclass(frozen=True, slots=True)
class Goal:
    """How many verdicts on a change there are, and how many there shall be."""

    injected: float
    done: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Proof:
    """The verdicts that count, those of earlier runs included, and what they come to."""

    cases: tuple[Figures, ...]
    tests: Mapping[str, tuple[Figures, ...]]  # the same, test by test
    goals: tuple[Goal, ...]
    false_alarms: tuple[Trial, ...]  # unchanged code that was called slower
    missed: tuple[Trial, ...]  # changes that should be called, and were not
    added: int  # by this run
    left_out: int  # of other tests, thresholds, versions or machines
    file: str  # that holds them
    uncounted: Mapping[str, str] = field(default_factory=dict)  # tests without a verdict, and why

    @property
    def verdicts(self) -> int:
        return sum(figures.n for figures in self.cases)


# -- tests and runs -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a test failed for a reason other than its speed."""

    text: str
    sections: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TestResult:
    """One benchmark: what was measured, and what is said of it."""

    nodeid: str
    spec: Spec
    metrics: tuple[Metric, ...] = ()  # time and throughput, memory, sizes and starts
    blocks: tuple[Block, ...] = ()
    plan: Plan | None = None
    size: JobSize | None = None  # None: it is no MPI test
    reference: ReferenceTime | None = None  # None: no kernel played, or in too few blocks
    steps: int | None = None
    first_call_ns: float | None = None  # compiling and cold caches, outside of slices
    drift: Drift | None = None  # None: too few slices to tell
    phases: tuple[PhaseResult, ...] = ()
    failure: Failure | None = None
    skipped: str | None = None
    source_hash: str = ""
    repeat_command: str = ""
    imported: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # side → name → file
    differences: tuple[str, ...] = ()  # between the code of both sides, that it may have met
    explanation: Explanation | None = None  # None: nobody asked why
    memory: MemoryResult | None = None  # None: it was not asked for
    learning: LearningResult | None = None  # None: nothing is learned
    cost: Spending | None = None  # None: an older result does not tell
    part: str | None = None  # of the run that measured it; None: the one it stands in

    @property
    def time(self) -> Metric | None:
        """The time of a call; None: its memory alone was asked for."""
        return self.metric(TIME)

    def metric(self, name: str) -> Metric | None:
        return next((metric for metric in self.metrics if metric.name == name), None)

    @property
    def judged(self) -> tuple[Metric, ...]:
        """The metrics that have a verdict of their own: throughput shows that of time again."""
        return tuple(
            metric
            for metric in self.metrics
            if metric.name != THROUGHPUT and metric.outcome is not Outcome.SHOWN
        )

    @property
    def memory_bytes(self) -> tuple[float, ...]:
        """The peak of head's processes; empty: not measured."""
        peak = self.metric(PEAK)
        return () if peak is None else peak.head

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Every verdict that counts; of a test that failed or was skipped the one that says so."""
        if self.failure is not None or self.skipped is not None:
            outcome = Outcome.SKIPPED if self.failure is None else Outcome.FAILED
            return (Verdict(outcome, "there is nothing to judge"),)
        trouble = self.memory.trouble if self.memory else None
        judged = tuple(metric.verdict for metric in self.judged)
        return judged if trouble is None else (*judged, trouble)

    @property
    def worst(self) -> Verdict:
        """The first of its verdicts with the worst outcome, and of these the severest."""
        return min(self.verdicts, key=badness)

    @property
    def headline(self) -> Verdict:
        """The verdict that the test's line shows: on its time, or without one the worst."""
        return self.worst if self.time is None else self.time.verdict

    @property
    def outcome(self) -> Outcome:
        return self.worst.outcome

    @property
    def severity(self) -> Severity | None:
        """The severity of its worst regression; None: there is none."""
        return self.worst.severity if self.outcome is Outcome.REGRESSED else None

    __test__ = False  # pytest: this is data, not a test


@dataclass(frozen=True, slots=True)
class Vanished:
    """A test that has a baseline and is no longer there."""

    nodeid: str
    renamed_to: str | None = None  # a new test with the same source


@dataclass(frozen=True, slots=True)
class Part:
    """A run whose tests stand in one result with those of others."""

    name: str  # by which tests name it, and rows of reports
    mode: str
    against: str | None
    commit: str | None
    base_commit: str | None
    dirty: bool
    created: str
    seconds: float
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class RunResult:
    """A whole run, or what several runs of parts come to."""

    mode: str
    against: str | None  # label of the base revision
    commit: str | None
    dirty: bool
    created: str
    fingerprint: Fingerprint
    tests: tuple[TestResult, ...]
    seconds: float
    interrupted: bool = False
    vanished: tuple[Vanished, ...] = ()
    kpis: tuple[KpiResult, ...] = ()
    scaling: tuple[ScalingTable, ...] = ()
    proof: Proof | None = None  # of the gate itself, where that was measured
    base_commit: str | None = None  # of the base revision; None: there is none
    code_changes: CodeChanges | None = None  # None: nobody looked
    cost: Spending | None = None  # None: of a proof, or an older result
    budget_s: float | None = None  # None: an older result does not say
    needed_s: float | None = None  # a budget that should do for all tests; None: this one did
    shard: Shard | None = None  # the part of a suite that it is; None: it is no part
    parts: tuple[Part, ...] = ()  # the runs that its tests are from; none: this one alone
    environments: Environments | None = None  # None: both sides have the same one

    @property
    def compared(self) -> bool:
        """Whether some test was measured on both sides, or ran the same code there: an inconclusive
        one without a block compared nothing.
        """
        return any(
            verdict.outcome in (Outcome.SAME_CODE, Outcome.IDENTICAL)
            or (verdict.outcome in COMPARED and verdict.interval)
            for test in self.tests
            for verdict in test.verdicts
        )


# -- ends and progress --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come."""

    decided: int
    tests: int
    blocks: int  # 0: scouting
    widest: float | None  # half width of the widest open interval, a fraction
    elapsed_s: float
    budget_s: float
    label: str = ""  # of the round, where there are several
    needed_s: float | None = None  # by all tests, as far as is known; None: it is not yet
    seeds: int | None = None  # of the test that is trained; None: nothing is
