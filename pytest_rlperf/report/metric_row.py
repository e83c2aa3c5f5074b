"""One metric of a test in the machine-readable result."""

from collections.abc import Sequence
from typing import Any

from pytest_rlperf.model.verdict import Interval, Verdict


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
