"""The cases of the proof: what is measured, how often, and what must come out of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .projects import WORKLOADS, Change, Workload

GATE = "pytest-rlperf"
PYTEST_BENCHMARK = "pytest-benchmark"

# Every second suite is plain, so that half of the A/A verdicts have asymmetric layouts.
HALF_ASYMMETRIC = ("plain", "unused", "plain", "path", "plain", "bytecode")


@dataclass(frozen=True)
class Requirement:
    """Limits as shares of all verdicts; ``seconds_max`` holds for the slowest suite.

    Verdicts of the ``exempt`` kinds are stated, but neither judged nor counted.
    """

    regressed_min: float = 0.0
    regressed_max: float = 1.0
    inconclusive_max: float = 1.0
    coverage_min: float = 0.0
    seconds_max: float | None = None
    exempt: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Case:
    """One row of the proof: known work with a known change, judged ``wanted`` times."""

    name: str
    title: str
    wanted: int
    requirement: Requirement | None
    suite: str = "suite"
    change: Change = field(default_factory=Change)
    threshold: float = 0.05
    variants: tuple[str, ...] = ("plain",)
    tool: str = GATE
    # A little under 10 s for each of ten tests: start and end of the run come on top.
    budget_s: int = 95

    @property
    def workload(self) -> Workload:
        return WORKLOADS[self.suite]

    @property
    def exempt(self) -> frozenset[str]:
        return self.requirement.exempt if self.requirement else frozenset()


def _ranked(name: str, title: str, requirement: Requirement, change: Change) -> Case:
    # For three tests; start and end of the run come on top, as above.
    budget_s = int(3 * SECONDS_A_VERDICT_OF_RANKS) - 3
    return Case(name, title, 100, requirement, suite="mpi", change=change, budget_s=budget_s)


def _small(name: str, title: str, requirement: Requirement, suite: str, change: Change) -> Case:
    return Case(
        name,
        title,
        SMALL_SUITE_VERDICTS,
        requirement,
        suite=suite,
        change=change,
        budget_s=SMALL_SUITE_BUDGET_S,
    )


SECONDS_A_VERDICT = 10.0
SECONDS_A_VERDICT_OF_RANKS = 15.0
SMALL_SUITE_VERDICTS = 60
# Three tests with calls of 0.5 s, or in two processes: the default of the gate.
SMALL_SUITE_BUDGET_S = 300

QUIET = Requirement(
    regressed_max=0.0,
    inconclusive_max=0.05,
    coverage_min=0.93,
    seconds_max=SECONDS_A_VERDICT,
)
CAUGHT = Requirement(regressed_min=0.99, seconds_max=SECONDS_A_VERDICT)
# No time is set for suites of fewer than ten tests.
QUIET_SMALL = replace(QUIET, seconds_max=None)
CAUGHT_SMALL = replace(CAUGHT, seconds_max=None)
QUIET_RANKS = Requirement(regressed_max=0.0, seconds_max=SECONDS_A_VERDICT_OF_RANKS)
CAUGHT_RANKS = Requirement(regressed_min=0.99, seconds_max=SECONDS_A_VERDICT_OF_RANKS)
# Memory-bound time depends on layout: its figure for the finer threshold is stated only.
CAUGHT_FINE = Requirement(
    regressed_min=0.95, seconds_max=SECONDS_A_VERDICT, exempt=frozenset({"memory"})
)
AT_THRESHOLD = Requirement(regressed_max=0.02, seconds_max=SECONDS_A_VERDICT)

TEN = Change(0.10)

CASES = (
    Case("aa", "A/A at 5 %", 300, QUIET, variants=HALF_ASYMMETRIC),
    Case("plus10", "+10 % at 5 %", 200, CAUGHT, change=TEN),
    Case("plus4", "+4 % at 2 %", 100, CAUGHT_FINE, change=Change(0.04), threshold=0.02),
    Case("every-2nd", "+10 %, in every 2nd call", 60, CAUGHT, change=Change(0.10, every=2)),
    Case("every-4th", "+10 %, in every 4th call", 60, CAUGHT, change=Change(0.10, every=4)),
    Case("at-threshold", "+5 % at 5 %", 100, AT_THRESHOLD, change=Change(0.05)),
    _small("long-aa", "0.5 s a call, A/A", QUIET_SMALL, "long", Change()),
    _small("long-plus10", "0.5 s a call, +10 %", CAUGHT_SMALL, "long", TEN),
    _small("processes-aa", "two processes, A/A", QUIET_SMALL, "processes", Change()),
    _small("processes-plus10", "two processes, +10 %", CAUGHT_SMALL, "processes", TEN),
    _small("environments-aa", "two environments, A/A", QUIET_SMALL, "installed", Change()),
    _small("environments-plus10", "two environments, +10 %", CAUGHT_SMALL, "installed", TEN),
    _ranked("mpi-aa", "two MPI ranks, A/A", QUIET_RANKS, Change()),
    _ranked("mpi-plus10", "two MPI ranks, +10 %", CAUGHT_RANKS, TEN),
    Case("benchmark-aa", "A/A at 5 %", 100, None, tool=PYTEST_BENCHMARK),
    Case("benchmark-plus10", "+10 % at 5 %", 100, None, tool=PYTEST_BENCHMARK, change=TEN),
)


def by_name(name: str) -> Case:
    for case in CASES:
        if case.name == name:
            return case
    known = ", ".join(case.name for case in CASES)
    raise ValueError(f"unknown case {name!r}; choose one of {known}")
