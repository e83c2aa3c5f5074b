"""Scaling over the sizes of MPI jobs, as text and as data."""

from typing import Any

from pytest_rlperf.model.quantity import format_percent, format_rate, format_time
from pytest_rlperf.model.result import RunResult
from pytest_rlperf.model.scaling import OVERSUBSCRIBED, ScalingRow, ScalingTable
from pytest_rlperf.model.verdict import COMPARED, Outcome
from pytest_rlperf.report.columns import Rows, aligned
from pytest_rlperf.report.intervals import render_interval
from pytest_rlperf.report.words import WORDS


def render_scaling(run: RunResult) -> list[str]:
    """One table a test, with an empty line between two."""
    lines: list[str] = []
    for table in run.scaling:
        lines += ["", *_table(table)] if lines else _table(table)
    return lines


def _table(table: ScalingTable) -> list[str]:
    return [render_scaling_title(table), *aligned(scaling_rows(table))]


def render_scaling_title(table: ScalingTable) -> str:
    return f"{table.scaling.value} scaling of {table.test}"


def scaling_rows(table: ScalingTable) -> Rows:
    """One a size."""
    head = ["nprocs", "time a call", "speed-up", "efficiency", "throughput", "efficiency lost", ""]
    return [head, *map(_row, table.rows)]


def _row(row: ScalingRow) -> list[str]:
    return [
        str(row.size.nprocs),
        format_time(row.time_ns),
        f"{row.speedup:.2f}",
        format_percent(row.efficiency, signed=False),
        f"{format_rate(row.throughput)} {row.unit}",
        _change(row),
        OVERSUBSCRIBED if row.size.oversubscribed else "",
    ]


def _change(row: ScalingRow) -> str:
    v = row.verdict
    if v is None or v.interval is None or v.outcome not in COMPARED:
        return ""
    change = format_percent(v.interval.change)
    return f"{change} {render_interval(v.interval)} {WORDS[v.outcome]}"


def render_efficiency_lost(run: RunResult, nodeid: str) -> list[str]:
    """Why a test fails whose time alone may be within what is allowed."""
    rows = [row for table in run.scaling for row in table.rows if row.nodeid == nodeid]
    return [_lost(row) for row in rows if row.verdict and row.verdict.outcome is Outcome.REGRESSED]


def _lost(row: ScalingRow) -> str:
    v = row.verdict
    assert v is not None
    assert v.interval is not None
    assert v.threshold is not None
    word = WORDS[v.outcome] + (f" ({v.severity.value})" if v.severity else "")
    return (
        f"{word}: efficiency with {row.size.nprocs} ranks {format_percent(v.interval.change)} "
        f"{render_interval(v.interval)} worse, allowed {format_percent(v.threshold)}\n"
        f"  why: {v.reason}"
    )


def scaling_as_dicts(run: RunResult) -> list[dict[str, Any]]:
    return [
        {
            "test": table.test,
            "scaling": table.scaling.value,
            "rows": [_row_as_dict(row) for row in table.rows],
        }
        for table in run.scaling
    ]


def _row_as_dict(row: ScalingRow) -> dict[str, Any]:
    v = row.verdict
    interval = v.interval if v else None
    return {
        "nodeid": row.nodeid,
        "nprocs": row.size.nprocs,
        "time_ns": row.time_ns,
        "speedup": row.speedup,
        "efficiency": row.efficiency,
        "throughput": row.throughput,
        "unit": row.unit,
        "oversubscribed": row.size.oversubscribed,
        "gated": row.size.gated,
        "outcome": v.outcome.value if v else None,
        "change": interval.change if interval else None,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "threshold": v.threshold if v else None,
        "severity": v.severity.value if v and v.severity else None,
        "reason": v.reason if v else None,
    }
