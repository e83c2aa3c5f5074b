"""The result of a run: plain data, the same for every reporter."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_rlperf.model.block import Block
from pytest_rlperf.model.drift import Drift
from pytest_rlperf.model.extra import ExtraMetric
from pytest_rlperf.model.kpi import KpiResult
from pytest_rlperf.model.memory import MemoryResult
from pytest_rlperf.model.phase import PhaseResult
from pytest_rlperf.model.plan import Plan
from pytest_rlperf.model.proof import Proof
from pytest_rlperf.model.scaling import JobSize, ScalingTable
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.model.verdict import WORST_FIRST, Outcome, Severity, Verdict
from pytest_rlperf.model.why import Explanation


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
    verdict: Verdict  # on its time; of a test of memory alone, the worst on that
    blocks: tuple[Block, ...] = ()
    log_ratios: tuple[float, ...] = ()  # head over base, one a block, as judged
    plan: Plan | None = None
    size: JobSize | None = None  # None: it is no MPI test
    unit: Mapping[str, float] = field(default_factory=dict)  # kernels it was judged in, weighted
    steps: int | None = None
    first_call_ns: float | None = None  # compiling and cold caches, outside of slices
    drift: Drift | None = None  # None: too few slices to tell
    phases: tuple[PhaseResult, ...] = ()
    extras: tuple[ExtraMetric, ...] = ()  # judged beside its time and memory
    memory_bytes: tuple[float, ...] = ()  # head's peak, one a block; empty: not measured
    failure: Failure | None = None
    skipped: str | None = None
    source_hash: str = ""
    repeat_command: str = ""
    imported: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # side → name → file
    explanation: Explanation | None = None  # None: nobody asked why
    timed: bool = True
    memory: MemoryResult | None = None  # None: it was not asked for

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """On all that was judged."""
        if self.failure is not None or self.skipped is not None:
            return (self.verdict,)
        timed = (self.verdict,) if self.timed else ()
        memory = () if self.memory is None else self.memory.verdicts
        return (*timed, *memory, *(extra.verdict for extra in self.extras))

    @property
    def outcome(self) -> Outcome:
        """The worst of its verdicts."""
        return min((v.outcome for v in self.verdicts), key=WORST_FIRST.index)

    @property
    def severity(self) -> Severity | None:
        """The worst of its regressions'; None: there is none."""
        found = [v.severity for v in self.verdicts if v.outcome is Outcome.REGRESSED and v.severity]
        return max(found, key=tuple(Severity).index, default=None)

    __test__ = False  # pytest: this is data, not a test


@dataclass(frozen=True, slots=True)
class Vanished:
    """A test that has a baseline and is no longer there."""

    nodeid: str
    renamed_to: str | None = None  # a new test with the same source


@dataclass(frozen=True, slots=True)
class RunResult:
    """A whole run."""

    mode: str
    against: str | None  # label of the base revision
    commit: str | None
    dirty: bool
    created: str
    fingerprint: Mapping[str, Any]
    tests: tuple[TestResult, ...]
    seconds: float
    interrupted: bool = False
    vanished: tuple[Vanished, ...] = ()
    kpis: tuple[KpiResult, ...] = ()
    scaling: tuple[ScalingTable, ...] = ()
    proof: Proof | None = None  # of the gate itself, where that was measured
    base_commit: str | None = None  # of the base revision; None: there is none
