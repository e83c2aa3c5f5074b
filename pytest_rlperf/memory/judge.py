"""Verdicts on memory: differences in bytes between fresh processes.

Processes are the observations. The look rules and the false-alarm budget are those of time (see
`decide`), with fewer processes before each look: sizes hardly vary, so three of them tell what
takes five blocks of times. Allowed is what is more by no more than a share of the base, or by no
more than an amount: a test of 100 KiB may double, one of 1 GiB may not grow by a quarter.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.memory import Excess, Limits
from pytest_rlperf.model.metric import (
    NOT_JUDGED,
    Interval,
    Metric,
    MetricKind,
    Outcome,
    Rule,
    Severity,
    Verdict,
)
from pytest_rlperf.model.quantity import format_bytes, format_percent
from pytest_rlperf.stats.decide import Decision, DifferenceGate, decide
from pytest_rlperf.stats.estimate import estimate
from pytest_rlperf.stats.verdicts import Ended

LOOKS = (3, 5, 8, 12)
FIRST_FRESH = 3
LEAST_FRESH = 5
MEDIUM_ABOVE = 0.20


@dataclass(frozen=True, slots=True)
class SizeDifference:
    """Head's size less the base's, in bytes, of one process each."""

    typical: float

    @property
    def total(self) -> float:
        return self.typical


@dataclass(frozen=True, slots=True)
class SizeGate(DifferenceGate):
    """A gate whose blocks are differences in bytes, and `threshold` the number of bytes allowed."""

    @property
    def looks(self) -> tuple[int, ...]:
        return LOOKS

    @property
    def first_fresh(self) -> int:
        return FIRST_FRESH

    @property
    def least_fresh(self) -> int:
        return LEAST_FRESH


@dataclass(frozen=True, slots=True)
class Sizes:
    """One metric of one test, process by process."""

    metric: MetricKind
    head: tuple[float, ...]
    base: tuple[float, ...] = ()
    stored: bool = False  # the base's are of another run, and not paired with head's
    ended: Ended | None = None  # why there is no base to compare with

    @property
    def value(self) -> float:
        return _centre(self.head)

    @property
    def base_value(self) -> float | None:
        return _centre(self.base) if self.base else None


def decided(sizes: Sizes, limits: Limits, gates: int, exhausted: bool) -> Decision | None:
    """Decide on one of all `gates` of the build; None: there is nothing to compare with."""
    base = sizes.base_value
    if sizes.metric.rule is None or base is None or sizes.ended is not None:
        return None
    allowed = limits.of(sizes.metric.rule).above(base)
    if not sizes.stored:
        paired = [SizeDifference(h - b) for h, b in zip(sizes.head, sizes.base, strict=True)]
        return decide(paired, SizeGate(allowed, gates), exhausted)
    error = estimate(sizes.base).error if len(sizes.base) >= LEAST_BLOCKS else 0.0
    gate = SizeGate(allowed, gates, blur=error)
    return decide([SizeDifference(size - base) for size in sizes.head], gate, exhausted)


def judged(sizes: Sizes, limits: Limits, decision: Decision | None) -> Metric:
    """Return the metric with its verdict."""
    rule = sizes.metric.rule
    excess = None if rule is None else limits.of(rule)
    amount = decision.interval if decision else None
    return Metric(
        name=sizes.metric.name,
        verdict=NOT_JUDGED if excess is None else _verdict(sizes, excess, decision),
        head=sizes.head,
        base=sizes.base,
        value=sizes.value,
        base_value=sizes.base_value,
        amount=amount,
        threshold_abs=None if excess is None else excess.amount,
    )


def _verdict(sizes: Sizes, excess: Excess, decision: Decision | None) -> Verdict:
    share = excess.share or None
    if sizes.ended is not None:
        return Verdict(sizes.ended.outcome, sizes.ended.reason, share)
    if decision is None or decision.outcome is None:
        return Verdict(Outcome.NO_BASELINE, "measured, with nothing to compare with", share)
    relative = _relative(decision.interval, sizes)
    return Verdict(
        outcome=decision.outcome,
        reason=_reason(decision, excess),
        threshold=share,
        interval=relative,
        detectable=_detectable(decision, sizes),
        severity=_severity(relative) if decision.outcome is Outcome.REGRESSED else None,
    )


def _relative(amount: Interval | None, sizes: Sizes) -> Interval | None:
    """Return the change as a share of the base; None: what grows from nothing has no share."""
    base = sizes.base_value
    slope = sizes.metric.rule in (Rule.GROWTH, Rule.RESIDENT_GROWTH)
    if amount is None or slope or base is None or base <= 0:
        return None
    return Interval(amount.change / base, amount.low / base, amount.high / base)


def _detectable(decision: Decision, sizes: Sizes) -> float | None:
    if decision.detectable is None or _relative(decision.interval, sizes) is None:
        return None
    assert sizes.base_value is not None
    return decision.detectable / sizes.base_value


def _severity(relative: Interval | None) -> Severity:
    """Return the severity by the share; what has none, such as a leak, is no trifle."""
    if relative is None or relative.change > MEDIUM_ABOVE:
        return Severity.MEDIUM
    return Severity.NOTICE


def _reason(decision: Decision, excess: Excess) -> str:
    allowed = render_excess(excess)
    match decision.outcome:
        case Outcome.REGRESSED:
            return f"more than the allowed {allowed}, beyond doubt"
        case Outcome.IMPROVED:
            return f"less by more than {allowed}"
        case Outcome.UNCHANGED:
            return f"within the allowed {allowed}"
        case _:
            few = decision.blocks < LEAST_BLOCKS
            what = f"{decision.blocks} processes" + (" are too few" if few else "")
            return (
                f"{what}: they could not tell it from the allowed {allowed}; raise --rlperf-budget"
            )


def render_excess(excess: Excess) -> str:
    amount = format_bytes(excess.amount)
    if not excess.share:
        return f"{amount} a repeat"
    return f"{format_percent(excess.share)} and {amount}"


def _centre(sizes: Sequence[float]) -> float:
    return estimate(sizes).mean if len(sizes) >= LEAST_BLOCKS else statistics.fmean(sizes)
