"""Numbers without opinion (`Interval`), opinions (`Verdict`), and what holds both (`Metric`).

`KINDS` is the table of all metrics there are. Reports, the result file and the history loop over
the metrics of a test and take from the table what a metric is called, measured and written in.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pytest_rlperf.model.quantity import (
    format_bytes,
    format_percent,
    format_rate,
    format_return,
    format_time,
    growth_law,
)


class Outcome(StrEnum):
    REGRESSED = "regressed"
    ACCEPTED = "accepted"  # regressed, as the project allows for a while
    SLOWER = "slower"  # beyond doubt, and within what is allowed
    UNCHANGED = "unchanged"
    FASTER = "faster"  # beyond doubt
    IMPROVED = "improved"  # beyond doubt, by more than a regression would be allowed
    INCONCLUSIVE = "inconclusive"
    NOT_MEASURED = "not_measured"  # the budget did not reach it
    INCOMPARABLE = "incomparable"
    NO_BASELINE = "no_baseline"
    SAME_CODE = "same_code"  # it runs the same code on both sides: nothing was measured
    IDENTICAL = "identical"  # both sides learned the same, bit for bit
    FAILED = "failed"  # the test itself failed: there is nothing to judge
    SKIPPED = "skipped"
    SHOWN = "shown"  # a number beside the verdicts, which nothing judges


WITHIN = frozenset({Outcome.SLOWER, Outcome.UNCHANGED, Outcome.FASTER, Outcome.IMPROVED})
"""Outcomes of what is no more than allowed."""

COMPARED = WITHIN | {Outcome.REGRESSED, Outcome.ACCEPTED, Outcome.INCONCLUSIVE}
"""Outcomes that rest on a comparison."""

UNSURE = frozenset(
    {Outcome.INCONCLUSIVE, Outcome.NOT_MEASURED, Outcome.INCOMPARABLE, Outcome.NO_BASELINE}
)
"""Outcomes that `--rlperf-strict` turns into failures."""

WORST_FIRST = (
    Outcome.REGRESSED,
    Outcome.FAILED,
    Outcome.ACCEPTED,
    Outcome.INCONCLUSIVE,
    Outcome.NOT_MEASURED,
    Outcome.INCOMPARABLE,
    Outcome.NO_BASELINE,
    Outcome.SLOWER,
    Outcome.IMPROVED,
    Outcome.FASTER,
    Outcome.UNCHANGED,
    Outcome.IDENTICAL,
    Outcome.SAME_CODE,
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
    """The judgement on one metric of one benchmark, with its reason and its evidence."""

    outcome: Outcome
    reason: str
    threshold: float | None = None
    interval: Interval | None = None
    detectable: float | None = None  # smallest true change that nine of ten runs call
    severity: Severity | None = None
    label: str | None = None  # how the number came about, where that is not the usual way


NOT_JUDGED = Verdict(Outcome.SHOWN, "not judged")


def badness(verdict: Verdict) -> tuple[int, int]:
    """Return the key that sorts the worst first: by outcome, and regressions by severity."""
    severe = verdict.severity if verdict.outcome is Outcome.REGRESSED else None
    rank = 0 if severe is None else 1 + tuple(Severity).index(severe)
    return WORST_FIRST.index(verdict.outcome), -rank


# -- the table of metrics -----------------------------------------------------------------------


class Direction(StrEnum):
    """Whether lower or higher values are better."""

    LOWER = "lower"
    HIGHER = "higher"


class MetricFamily(StrEnum):
    """How a metric is measured, which decides the table that tells it."""

    TIME = "time"  # blocks of slices
    MEMORY = "memory"  # fresh processes
    GROWTH = "growth"  # blocks of all sizes of a test
    START = "start"  # blocks, one observation in each
    SCALING = "scaling"  # blocks of all sizes of an MPI job
    LEARNING = "learning"  # trainings, one a seed


class Rule(StrEnum):
    """The limit that a metric of memory is held against."""

    RESIDENT = "resident"
    TRACED = "traced"
    GROWTH = "growth"
    RESIDENT_GROWTH = "resident growth"


def _rate(per_second: float) -> str:
    return f"{format_rate(per_second)} steps/s"


def _bytes_a_repeat(size: float) -> str:
    return f"{format_bytes(size)} a repeat"


def _exponent(exponent: float, sizes: Sequence[float] = ()) -> str:
    law = growth_law(exponent, sizes) if sizes else ""
    return law if "^" in law else f"{exponent:.2f} {law}".rstrip()


def _share(fraction: float) -> str:
    return format_percent(fraction, signed=False)


def _signed_bytes(size: float) -> str:
    return f"{'-' if size < 0 else '+'}{format_bytes(abs(size))}"


@dataclass(frozen=True, slots=True)
class MetricKind:
    """A line of the table of metrics."""

    name: str
    unit: str | None  # None: a bare number
    family: MetricFamily
    write: Callable[..., str]  # takes a value, and the sizes that an exponent was fitted to
    direction: Direction = Direction.LOWER
    rule: Rule | None = None  # of memory; None: shown, not judged
    relative: bool = True  # False: its change is told in its own unit, not as a share of the base

    @property
    def write_amount(self) -> Callable[[float], str]:
        """Return what writes a change in the metric's own unit, with its sign."""
        return _signed_bytes if self.family is MetricFamily.MEMORY else "{:+.2f}".format


TIME, THROUGHPUT = "time", "throughput"
PEAK = "peak_rss"
EXPONENT, IMPORT_TIME, FIRST_CALL = "exponent", "import_time", "first_call"
EFFICIENCY = "efficiency"

_TIME, _MEMORY, _START = MetricFamily.TIME, MetricFamily.MEMORY, MetricFamily.START
_LEARNING = MetricFamily.LEARNING
KINDS = {
    kind.name: kind
    for kind in (
        MetricKind(TIME, "ns", _TIME, format_time),
        MetricKind(THROUGHPUT, "steps/s", _TIME, _rate, Direction.HIGHER),
        MetricKind(PEAK, "bytes", _MEMORY, format_bytes, rule=Rule.RESIDENT),
        MetricKind("uss", "bytes", _MEMORY, format_bytes, rule=Rule.RESIDENT),
        MetricKind("shared_memory", "bytes", _MEMORY, format_bytes, rule=Rule.RESIDENT),
        MetricKind("traced_peak", "bytes", _MEMORY, format_bytes, rule=Rule.TRACED),
        MetricKind("growth", "bytes/repeat", _MEMORY, _bytes_a_repeat, rule=Rule.GROWTH),
        MetricKind(
            "growth_rss", "bytes/repeat", _MEMORY, _bytes_a_repeat, rule=Rule.RESIDENT_GROWTH
        ),
        MetricKind("memray_peak", "bytes", _MEMORY, format_bytes),
        MetricKind("traced_blocks", "blocks", _MEMORY, "{:,.0f} blocks".format),
        MetricKind("gc_collections", "collections", _MEMORY, "{:,.0f} collections".format),
        MetricKind("gc_pause", "ns", _MEMORY, format_time),
        MetricKind(EXPONENT, None, MetricFamily.GROWTH, _exponent, relative=False),
        MetricKind(IMPORT_TIME, "ns", _START, format_time),
        MetricKind(FIRST_CALL, "ns", _START, format_time),
        MetricKind("final_return", None, _LEARNING, format_return, Direction.HIGHER),
        MetricKind("mean_return", None, _LEARNING, format_return, Direction.HIGHER),
        MetricKind("steps_to_goal", "steps", _LEARNING, "{:,.0f} steps".format),
        MetricKind("solved", None, _LEARNING, _share, Direction.HIGHER),
        MetricKind(EFFICIENCY, None, MetricFamily.SCALING, _share, Direction.HIGHER),
    )
}
"""All metrics by name, in the order in which reports tell them."""

LEARNED = frozenset(kind.name for kind in KINDS.values() if kind.family is _LEARNING)
"""Metrics whose change is a share of what the base learns: who learns twice as much again has lost
-100 % and more, where no time and no size becomes less than nothing."""


@dataclass(frozen=True, slots=True)
class GrowthCurve:
    """The times that an exponent was fitted to."""

    sizes: tuple[float, ...]
    head_ns: tuple[float, ...] = ()  # time of a call at each of them
    base_ns: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        sides = [times for times in (self.head_ns, self.base_ns) if times]
        numbers = (*self.sizes, *self.head_ns, *self.base_ns)
        if any(len(times) != len(self.sizes) for times in sides) or min(numbers, default=1) <= 0:
            raise ValueError("a curve has a time for every size, all above 0")


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of one test, as it was measured and what is said of it."""

    name: str  # in `KINDS`
    verdict: Verdict  # its interval is a share of the base; None where the change is none
    head: tuple[float, ...] = ()  # one a block, or a process
    base: tuple[float, ...] = ()
    value: float | None = None  # None: not measured
    base_value: float | None = None
    amount: Interval | None = None  # the change in the metric's own unit, where that is judged too
    threshold_abs: float | None = None
    block_changes: tuple[float, ...] = ()  # of time: the change in each block, as judged
    curve: GrowthCurve | None = None  # of an exponent

    @property
    def kind(self) -> MetricKind:
        return KINDS[self.name]

    @property
    def family(self) -> MetricFamily:
        return self.kind.family

    @property
    def unit(self) -> str | None:
        return self.kind.unit

    @property
    def direction(self) -> Direction:
        return self.kind.direction

    @property
    def outcome(self) -> Outcome:
        return self.verdict.outcome

    @property
    def change(self) -> Interval | None:
        """Its change as people read it: a return that falls has a minus."""
        interval = self.verdict.interval
        rises = self.family is MetricFamily.LEARNING and self.direction is Direction.HIGHER
        if interval is None or not rises:
            return interval
        return Interval(-interval.change, -interval.high, -interval.low)

    def written(self, value: float) -> str:
        """Return a value of this metric as people read it."""
        return self.kind.write(value, *(() if self.curve is None else (self.curve.sizes,)))
