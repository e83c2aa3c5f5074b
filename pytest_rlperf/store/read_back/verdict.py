"""What is said of one metric: the fields that every row of a result shares."""

from typing import Any

from pytest_rlperf.model.verdict import Interval, Outcome, Severity, Verdict

Row = dict[str, Any]


def verdict_from(row: Row, label: str | None = None) -> Verdict:
    severity = row["severity"]
    return Verdict(
        outcome=Outcome(row["outcome"]),
        reason=row["reason"],
        threshold=row["threshold"],
        interval=interval_from(row),
        detectable=row.get("detectable"),
        severity=None if severity is None else Severity(severity),
        label=label,
    )


def interval_from(row: Row, ending: str = "") -> Interval | None:
    """`ending` "_abs": the change in the metric's own unit."""
    change, low, high = (row[f"{name}{ending}"] for name in ("change", "low", "high"))
    return None if change is None else Interval(change, low, high)
