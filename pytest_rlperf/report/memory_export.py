"""Memory in the machine-readable result: a row for every metric, and the evidence beside them."""

from dataclasses import asdict
from typing import Any

from pytest_rlperf.model.memory import Evidence, MemoryResult, MetricResult

UPPER_BOUND = "upper bound: the sum of the peaks of several processes"
INEXACT = "peaks before the calls included: the kernel's mark cannot be set back here"


def memory_as_dict(memory: MemoryResult | None) -> dict[str, Any] | None:
    """None: it was not asked for."""
    if memory is None:
        return None
    return {
        "repeats": memory.repeats,
        "trouble": memory.trouble.reason if memory.trouble else None,
        "head": asdict(memory.head),
        "base": asdict(memory.base) if memory.base else None,
    }


def memory_metrics(memory: MemoryResult | None) -> list[dict[str, Any]]:
    return [_row(found, memory.head) for found in memory.metrics] if memory else []


def _row(found: MetricResult, evidence: Evidence) -> dict[str, Any]:
    v, amount = found.verdict, found.amount
    return {
        "name": found.metric.name,
        "unit": found.metric.unit,
        "direction": "lower",
        "value": found.value,
        "base_value": found.base_value,
        "outcome": v.outcome.value,
        "change": v.interval.change if v.interval else None,
        "low": v.interval.low if v.interval else None,
        "high": v.interval.high if v.interval else None,
        "change_abs": amount.change if amount else None,
        "low_abs": amount.low if amount else None,
        "high_abs": amount.high if amount else None,
        "threshold": v.threshold,
        "threshold_abs": found.threshold_abs,
        "detectable": v.detectable,
        "severity": v.severity.value if v.severity else None,
        "blocks": len(found.head),
        "head_blocks": list(found.head),
        "base_blocks": list(found.base),
        "label": render_label(found, evidence),
        "reason": v.reason,
    }


def render_label(found: MetricResult, evidence: Evidence) -> str | None:
    """How the number came about, where that matters."""
    if found.metric.name != "peak_rss":
        return None
    labels = [UPPER_BOUND] if evidence.is_upper_bound else []
    labels += [] if evidence.exact else [INEXACT]
    return "; ".join(labels) or None
