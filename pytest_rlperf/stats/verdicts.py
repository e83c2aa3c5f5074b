"""From a decision, or from what ended a test before there was one, to its verdict with a reason."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.code import CodeChanges
from pytest_rlperf.model.metric import Outcome, Severity, Verdict
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.stats.decide import MOST_BLUR, Decision

MEDIUM_ABOVE = 0.10
HIGH_ABOVE = 0.20
MORE_TIME = "raise --rlperf-budget or select fewer tests"

BASE_TROUBLE = {
    "uncollected": "it cannot be collected on the base",
    "failed": "it fails on the base",
    "skipped": "it is skipped on the base",
    "crashed": "it crashes on the base",
    "hung": "it hangs on the base",
    "unmeasured": "on the base it returns without calling rlperf",
    "abandoned": "the two sides did not meet in time; if its fixtures take long, make them once",
}


@dataclass(frozen=True, slots=True)
class Ended:
    """The outcome of a benchmark that left without a decision, and why it did."""

    outcome: Outcome
    reason: str
    shown: bool = False  # the change was measured all the same, and is told without a judgement

    @classmethod
    def base_did_not_run(cls, state: str, text: str) -> Self:
        """Return that there is no baseline: the base ended in `state` and said `text`."""
        cause = error_line(text)
        trouble = BASE_TROUBLE.get(state, state)
        if "No module named" in cause and "rlperf_build" not in cause:
            cause += "; if it is compiled or generated, set rlperf_build to the command for it"
        return cls(Outcome.NO_BASELINE, f"{trouble}: {cause}" if cause else trouble)

    @classmethod
    def different_work(cls, head: Mapping[str, float], base: Mapping[str, float]) -> Self:
        """Return that the sides are incomparable, with the counts of work that differ."""
        parts = [
            f"{name} is {_count(base.get(name))} on the base and {_count(head.get(name))} on head"
            for name in sorted(head.keys() | base.keys())
            if head.get(name) != base.get(name)
        ]
        return cls(Outcome.INCOMPARABLE, f"the sides did not do the same work: {'; '.join(parts)}")

    @classmethod
    def same_code(cls, changes: CodeChanges) -> Self:
        """Return that a test met none of these changes."""
        if changes.none:
            return cls(Outcome.SAME_CODE, "nothing changed")
        return cls(Outcome.SAME_CODE, "it runs nothing of what changed")

    @classmethod
    def alone(cls) -> Self:
        """Return that there was nothing to compare with."""
        return cls(Outcome.NO_BASELINE, "measured, with nothing to compare with")

    @classmethod
    def not_measured(cls, what: str, budget_s: float, needed_s: float | None) -> Self:
        """Return that the budget did not reach it, with the one that would do where it is known."""
        reason = f"the budget of {budget_s:g} s did not reach {what}"
        cure = MORE_TIME
        if needed_s is not None:
            cure = f"all tests need about {needed_s:.0f} s here: --rlperf-budget={needed_s:.0f}"
        return cls(Outcome.NOT_MEASURED, f"{reason}; {cure}")


def verdict_of(
    decision: Decision | None,
    ended: Ended | None,
    threshold: float,
    *,
    failed: bool,
    skipped: bool,
    labels: Iterable[str] = (),
    interrupted: bool = False,
    cure: str = MORE_TIME,
) -> Verdict:
    """Return the one verdict on a benchmark's time; `cure` says how to give it more."""
    if failed or skipped:
        return Verdict(Outcome.FAILED if failed else Outcome.SKIPPED, "there is nothing to judge")
    if ended is not None and ended.shown and decision is not None:
        return Verdict(ended.outcome, ended.reason, interval=decision.interval)
    if ended is not None:
        return Verdict(ended.outcome, ended.reason, threshold)
    if decision is None or decision.outcome is None:
        more = _more_time(interrupted, cure)
        reason = f"{_why_over(interrupted)} before it was measured; {more}"
        return Verdict(Outcome.INCONCLUSIVE, reason, threshold)
    interval = decision.interval
    regressed = decision.outcome is Outcome.REGRESSED and interval is not None
    return Verdict(
        outcome=decision.outcome,
        reason=_reason(decision, threshold, interrupted, cure),
        threshold=threshold,
        interval=interval,
        detectable=decision.detectable,
        severity=severity(interval.change) if regressed and interval else None,
        label=", ".join((*(("by sums",) if decision.by_sums else ()), *labels)) or None,
    )


def severity(
    change: float, medium_above: float = MEDIUM_ABOVE, high_above: float = HIGH_ABOVE
) -> Severity:
    if change > high_above:
        return Severity.HIGH
    return Severity.MEDIUM if change > medium_above else Severity.NOTICE


def _why_over(interrupted: bool) -> str:
    return "the run was interrupted" if interrupted else "the budget ran out"


def _more_time(interrupted: bool, cure: str) -> str:
    return "run it again" if interrupted else cure


def _reason(decision: Decision, threshold: float, interrupted: bool, cure: str) -> str:
    allowed = format_percent(threshold)
    by = ", judged on the sums: only some of the calls changed" if decision.by_sums else ""
    match decision.outcome:
        case Outcome.REGRESSED:
            return f"slower than the allowed {allowed}, beyond doubt{by}"
        case Outcome.IMPROVED:
            return f"faster by more than {format_percent(threshold, signed=False)}{by}"
        case Outcome.FASTER:
            return f"faster, beyond doubt{by}"
        case Outcome.SLOWER:
            return f"slower, beyond doubt, and within the allowed {allowed}{by}"
        case Outcome.UNCHANGED:
            return f"within the allowed {allowed}"
        case _:
            more = _more_time(interrupted, cure)
            return _inconclusive(decision, threshold, allowed, interrupted, more)


def _inconclusive(
    decision: Decision, threshold: float, allowed: str, interrupted: bool, more: str
) -> str:
    if decision.interval is None or decision.detectable is None:
        over = _why_over(interrupted)
        return f"{over} after {decision.blocks} of at least {LEAST_BLOCKS} blocks; {more}"
    if decision.blur:
        known = format_percent(math.expm1(MOST_BLUR * decision.blur), signed=False)
        return (
            f"the baseline is known to ±{known} only, and no more blocks of this run can tell the "
            f"change from the allowed {allowed}; save it again, or compare with a revision: "
            "--rlperf-against=REF"
        )
    if not decision.out_of_time:
        return (
            f"{decision.blocks} blocks could not tell it from the allowed {allowed}: it lies too "
            "close; set another threshold for it, or look at the interval"
        )
    if decision.interval.low > threshold:
        return f"slower than the allowed {allowed}, but too few blocks have confirmed it; {more}"
    if decision.interval.high < threshold:
        return (
            f"the typical call is within the allowed {allowed}, but the sums, which see rare slow "
            f"ones, do not tell yet; {more}"
        )
    return (
        f"the interval still holds the allowed {allowed}; this run could have detected "
        f"{format_percent(decision.detectable)}; {more}"
    )


def error_line(text: str) -> str:
    """Return the first line that pytest marks as the error, or the last one of plain output."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("E ").strip() for line in lines if line.startswith("E ")]
    return errors[0] if errors else (lines[-1] if lines else "")


def _count(value: float | None) -> str:
    return "missing" if value is None else f"{value:.15g}"
