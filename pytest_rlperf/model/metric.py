"""Numbers without opinion (`Interval`), and opinions with their evidence (`Verdict`)."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    REGRESSED = "regressed"
    ACCEPTED = "accepted"  # regressed, as the project allows for a while
    UNCHANGED = "unchanged"
    IMPROVED = "improved"
    INCONCLUSIVE = "inconclusive"
    INCOMPARABLE = "incomparable"
    NO_BASELINE = "no_baseline"
    FAILED = "failed"  # the test itself failed: there is nothing to judge
    SKIPPED = "skipped"
    SHOWN = "shown"  # a number beside the verdicts, which nothing judges


COMPARED = frozenset(
    {
        Outcome.REGRESSED,
        Outcome.ACCEPTED,
        Outcome.UNCHANGED,
        Outcome.IMPROVED,
        Outcome.INCONCLUSIVE,
    }
)
"""Outcomes that rest on a comparison."""

UNSURE = frozenset({Outcome.INCONCLUSIVE, Outcome.INCOMPARABLE, Outcome.NO_BASELINE})
"""Outcomes that `--rlperf-strict` turns into failures."""


WORST_FIRST = (
    Outcome.REGRESSED,
    Outcome.FAILED,
    Outcome.ACCEPTED,
    Outcome.INCONCLUSIVE,
    Outcome.INCOMPARABLE,
    Outcome.NO_BASELINE,
    Outcome.IMPROVED,
    Outcome.UNCHANGED,
    Outcome.SKIPPED,
    Outcome.SHOWN,
)


class Severity(StrEnum):
    """The mildest first."""

    NOTICE = "notice"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Interval:
    """A relative change with its interval; fractions, positive means worse."""

    change: float
    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of one metric of one benchmark, and why."""

    outcome: Outcome
    reason: str
    threshold: float | None = None
    interval: Interval | None = None
    detectable: float | None = None  # smallest true change this run would have called regressed
    severity: Severity | None = None
    label: str | None = None  # how the number came about, where that is not the usual way


# What is judged of a test beside its time and memory.


EXPONENT = "exponent"
IMPORT_TIME = "import_time"
FIRST_CALL = "first_call"


@dataclass(frozen=True, slots=True)
class ExtraMetric:
    """One metric with its verdict; of all of them less is better."""

    name: str
    unit: str | None
    head: tuple[float, ...]  # one a block
    verdict: Verdict  # its interval is a share of the base; None where the change is not
    base: tuple[float, ...] = ()
    value: float | None = None  # None: not measured
    base_value: float | None = None
    amount: Interval | None = None  # the change in the metric's own unit, where it is no share
    threshold_abs: float | None = None
    sizes: tuple[float, ...] = ()  # over which an exponent was fitted
    head_ns: tuple[float, ...] = ()  # time of a call at each of them
    base_ns: tuple[float, ...] = ()
