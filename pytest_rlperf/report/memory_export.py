"""Memory in the machine-readable result: a row for every metric, and the evidence beside them."""

from dataclasses import asdict
from typing import Any

from pytest_rlperf.model.memory import Evidence, MemoryResult, MetricResult
from pytest_rlperf.report.metric_row import metric_row

UPPER_BOUND = "upper bound: the sum of the peaks of several processes"
INEXACT = "peaks before the calls included: the kernel's mark cannot be set back here"


def memory_as_dict(memory: MemoryResult | None) -> dict[str, Any] | None:
    """None: it was not asked for."""
    if memory is None:
        return None
    return {
        "repeats": memory.repeats,
        "trouble": memory.trouble.reason if memory.trouble else None,
        "trouble_outcome": memory.trouble.outcome.value if memory.trouble else None,
        "head": asdict(memory.head),
        "base": asdict(memory.base) if memory.base else None,
    }


def memory_metrics(memory: MemoryResult | None) -> list[dict[str, Any]]:
    return [_row(found, memory.head) for found in memory.metrics] if memory else []


def _row(found: MetricResult, evidence: Evidence) -> dict[str, Any]:
    return metric_row(
        found.metric.name,
        found.metric.unit,
        found.verdict,
        value=found.value,
        base_value=found.base_value,
        head=found.head,
        base=found.base,
        amount=found.amount,
        threshold_abs=found.threshold_abs,
        label=render_label(found, evidence),
    )


def render_label(found: MetricResult, evidence: Evidence) -> str | None:
    """How the number came about, where that matters."""
    if found.metric.name != "peak_rss":
        return None
    labels = [UPPER_BOUND] if evidence.is_upper_bound else []
    labels += [] if evidence.exact else [INEXACT]
    return "; ".join(labels) or None
