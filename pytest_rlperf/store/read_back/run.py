"""A whole run."""

from pathlib import Path
from typing import Any

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.kpi import Kpi, KpiResult, Metric, Reading, Status
from pytest_rlperf.model.rank_spec import Scaling
from pytest_rlperf.model.result import RunResult, Vanished
from pytest_rlperf.model.scaling import JobSize, ScalingRow, ScalingTable
from pytest_rlperf.store.json_file import refuse
from pytest_rlperf.store.read_back.one_test import read_test
from pytest_rlperf.store.read_back.verdict import verdict_from
from pytest_rlperf.store.result_file import ANEW, read_result

Row = dict[str, Any]


def read_run(path: Path) -> tuple[RunResult, Row]:
    """The run that a result tells of, and the result itself; or one sentence why there is none."""
    content = read_result(path)
    if "proof" in content:
        refuse(
            path,
            "tells of a proof of the gate, whose report only its own run can write",
            "give that run --rlperf-report=DIR",
        )
    try:
        return run_from(content), content
    except UsageError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        what = f"{type(error).__name__}: {error}"
        refuse(path, f"lacks what a report needs, or was damaged ({what})", ANEW)


def run_from(content: Row) -> RunResult:
    return RunResult(
        mode=content["mode"],
        against=content["against"],
        commit=content["commit"],
        dirty=content["dirty"],
        created=content["created"],
        fingerprint=content["fingerprint"],
        tests=tuple(map(read_test, content["tests"])),
        seconds=content["seconds"],
        interrupted=content["interrupted"],
        vanished=tuple(Vanished(**gone) for gone in content["vanished"]),
        kpis=tuple(map(_kpi_result, content["kpis"])),
        scaling=tuple(map(_scaling_table, content["scaling"])),
        base_commit=content.get("base_commit"),
    )


def _kpi_result(row: Row) -> KpiResult:
    reading = None
    if row["value"] is not None:
        reading = Reading(row["value"], row["low"], row["high"], row["blocks"])
    return KpiResult(
        kpi=Kpi(row["name"], Metric(row["metric"]), row["target"], row["alert"], row["unit"]),
        status=Status(row["status"]),
        reason=row["reason"],
        nodeid=row["nodeid"],
        reading=reading,
    )


def _scaling_table(table: Row) -> ScalingTable:
    scaling = Scaling(table["scaling"])
    rows = tuple(_scaling_row(row, scaling) for row in table["rows"])
    return ScalingTable(table["test"], scaling, rows)


def _scaling_row(row: Row, scaling: Scaling) -> ScalingRow:
    return ScalingRow(
        nodeid=row["nodeid"],
        size=JobSize(row["nprocs"], scaling, row["oversubscribed"], row["gated"]),
        time_ns=row["time_ns"],
        speedup=row["speedup"],
        efficiency=row["efficiency"],
        throughput=row["throughput"],
        unit=row["unit"],
        verdict=None if row["outcome"] is None else verdict_from(row),
    )
