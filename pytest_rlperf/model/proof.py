"""The gate itself, measured: verdicts on changes that are known, and what they come to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_rlperf.model.verdict import Interval, Outcome


@dataclass(frozen=True, slots=True)
class Trial:
    """One verdict on a test whose change is known."""

    nodeid: str
    source_hash: str
    injected: float  # share by which head was made slower; 0: both sides are the same
    threshold: float
    outcome: Outcome
    interval: Interval
    blocks: int
    seconds: float  # its part of the time that its round took
    created: str
    commit: str | None
    dirty: bool
    facts: Mapping[str, Any]  # of machine, libraries and plugin: what it was measured under


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
    """What the verdicts on one change at one threshold come to."""

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
    """All verdicts that count, those of earlier runs included."""

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
