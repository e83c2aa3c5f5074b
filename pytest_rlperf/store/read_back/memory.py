"""The memory of a test: its metrics stand among all others, the evidence apart."""

from collections.abc import Sequence
from typing import Any

from pytest_rlperf.model.memory import (
    METRICS,
    Evidence,
    MemoryMetric,
    MemoryResult,
    MetricResult,
    ProcessPeak,
    Site,
)
from pytest_rlperf.model.verdict import Outcome, Verdict
from pytest_rlperf.store.read_back.verdict import interval_from, verdict_from

Row = dict[str, Any]
BY_NAME = {metric.name: metric for metric in METRICS}


def memory_from(row: Row | None, metrics: Sequence[Row]) -> MemoryResult | None:
    if row is None:
        return None
    trouble = row["trouble"]
    return MemoryResult(
        metrics=tuple(_metric(m, BY_NAME[m["name"]]) for m in metrics if m["name"] in BY_NAME),
        repeats=row["repeats"],
        head=_evidence(row["head"]),
        base=None if row["base"] is None else _evidence(row["base"]),
        trouble=None if trouble is None else Verdict(Outcome(row["trouble_outcome"]), trouble),
    )


def _metric(row: Row, metric: MemoryMetric) -> MetricResult:
    return MetricResult(
        metric=metric,
        head=tuple(row["head_blocks"]),
        value=row["value"],
        verdict=verdict_from(row),
        base=tuple(row["base_blocks"]),
        base_value=row["base_value"],
        amount=interval_from(row, "_abs"),
        threshold_abs=row["threshold_abs"],
    )


def _evidence(row: Row) -> Evidence:
    return Evidence(
        processes=tuple(ProcessPeak(**each) for each in row["processes"]),
        segments=tuple(ProcessPeak(**each) for each in row["segments"]),
        left=tuple(row["left"]),
        sites=tuple(Site(**each) for each in row["sites"]),
        peak_sites=tuple(Site(**each) for each in row["peak_sites"]),
        exact=row["exact"],
        curve=tuple((seconds, size) for seconds, size in row["curve"]),
    )
