"""What is judged beside time and memory, as text and as data."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pytest_rlperf.metrics.exponent import in_words
from pytest_rlperf.model.metric import (
    COMPARED,
    WORST_FIRST,
    ExtraMetric,
    Interval,
    Outcome,
    Verdict,
)
from pytest_rlperf.model.quantity import format_percent, format_time
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.report.text import WORDS, Rows, aligned, render_interval

TITLES = ["", "metric", "change", "95 % interval", "allowed", "base → head", "blocks", "test"]
PLAIN = frozenset({Outcome.REGRESSED, Outcome.UNCHANGED, Outcome.IMPROVED})


def render_extra_table(run: RunResult) -> list[str]:
    """One line a metric, worst first, then the reasons that numbers do not show."""
    said = [f"{test.nodeid}: {said}" for test in run.tests for said in extra_remarks(test)]
    return [*aligned(extra_rows(run.tests)), *said]


def extra_rows(tests: Iterable[TestResult]) -> Rows:
    """One a metric, worst first."""
    found = [(extra, test) for test in tests if test.failure is None for extra in test.extras]
    found.sort(key=lambda each: WORST_FIRST.index(each[0].verdict.outcome))
    return [TITLES, *(_row(*each) for each in found)] if found else []


def extra_remarks(test: TestResult) -> Iterator[str]:
    """What the numbers of one test do not show."""
    for extra in test.extras if test.failure is None else ():
        if extra.verdict.outcome not in PLAIN:
            yield f"{extra.name} {WORDS[extra.verdict.outcome]}: {extra.verdict.reason}"


def _row(extra: ExtraMetric, test: TestResult) -> list[str]:
    v = extra.verdict
    compared = v.outcome in COMPARED
    return [
        WORDS[v.outcome],
        extra.name,
        render_change(extra),
        render_interval_of(extra),
        _allowed(extra) if compared else "",
        render_values_of(extra),
        str(len(extra.head) or ""),
        test.nodeid,
    ]


def render_change(extra: ExtraMetric) -> str:
    if extra.amount is not None:
        return f"{extra.amount.change:+.2f}"
    return format_percent(extra.verdict.interval.change) if extra.verdict.interval else ""


def render_interval_of(extra: ExtraMetric) -> str:
    if extra.amount is not None:
        return render_amounts(extra.amount)
    return render_interval(extra.verdict.interval) if extra.verdict.interval else ""


def render_amounts(amount: Interval) -> str:
    return f"[{amount.low:+.2f}, {amount.high:+.2f}]"


def _allowed(extra: ExtraMetric) -> str:
    if extra.threshold_abs is not None:
        return f"{extra.threshold_abs:+g}"
    return format_percent(extra.verdict.threshold) if extra.verdict.threshold else ""


def render_values_of(extra: ExtraMetric) -> str:
    """On both sides."""
    values = [value for value in (extra.base_value, extra.value) if value is not None]
    return " → ".join(_value(value, extra) for value in values)


def _value(value: float, extra: ExtraMetric) -> str:
    if not extra.sizes:
        return format_time(value)
    words = in_words(value, extra.sizes)
    return words if "^" in words else f"{value:.2f} {words}"


def render_extra_failures(test: TestResult, against: str | None) -> list[str]:
    """The lines of a failing test: what regressed beside its time."""
    lines = []
    for extra in test.extras:
        v = extra.verdict
        if v.outcome is Outcome.REGRESSED:
            severity = f" ({v.severity.value})" if v.severity else ""
            change = f"{render_change(extra)} {render_interval_of(extra)}"
            lines += [
                f"{WORDS[v.outcome]}{severity}: {extra.name} {change} "
                f"against {against or 'the baseline'}, allowed {_allowed(extra)}",
                f"  why: {v.reason}",
                f"  {extra.name}: {render_values_of(extra)}, {_measured_how(extra)}",
            ]
    return lines


def _measured_how(extra: ExtraMetric) -> str:
    blocks = f"{len(extra.head)} blocks"
    return f"{blocks} of sizes {_sizes(extra)}" if extra.sizes else blocks


def extra_metric(extra: ExtraMetric) -> dict[str, Any]:
    """Its row of the machine-readable result."""
    row = metric_row(
        extra.name,
        extra.unit,
        extra.verdict,
        value=extra.value,
        base_value=extra.base_value,
        head=extra.head,
        base=extra.base,
        amount=extra.amount,
        threshold_abs=extra.threshold_abs,
        label=_label(extra),
    )
    return {**row, "curve": _curve(extra)}


def _curve(extra: ExtraMetric) -> dict[str, Any] | None:
    """What an exponent was fitted to."""
    if not extra.sizes:
        return None
    return {
        "sizes": list(extra.sizes),
        "head_ns": list(extra.head_ns),
        "base_ns": list(extra.base_ns),
    }


def _label(extra: ExtraMetric) -> str | None:
    if not extra.sizes:
        return extra.verdict.label
    return f"sizes {_sizes(extra)}"


def _sizes(extra: ExtraMetric) -> str:
    return ", ".join(f"{size:g}" for size in extra.sizes)


# One metric of a test in the machine-readable result.


def metric_row(
    name: str,
    unit: str | None,
    verdict: Verdict,
    *,
    value: float | None,
    base_value: float | None,
    head: Sequence[float],
    base: Sequence[float],
    direction: str = "lower",
    amount: Interval | None = None,
    threshold_abs: float | None = None,
    label: str | None = None,
) -> dict[str, Any]:
    """`amount` is the change in the metric's own unit, where it is not a share alone."""
    interval = verdict.interval
    return {
        "name": name,
        "unit": unit,
        "direction": direction,
        "value": value,
        "base_value": base_value,
        "outcome": verdict.outcome.value,
        "change": interval.change if interval else None,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "change_abs": amount.change if amount else None,
        "low_abs": amount.low if amount else None,
        "high_abs": amount.high if amount else None,
        "threshold": verdict.threshold,
        "threshold_abs": threshold_abs,
        "detectable": verdict.detectable,
        "severity": verdict.severity.value if verdict.severity else None,
        "blocks": len(head),
        "head_blocks": list(head),
        "base_blocks": list(base),
        "label": label,
        "reason": verdict.reason,
    }
