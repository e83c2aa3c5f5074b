"""The result as it is read back: for every dictionary of `write` the data that it was made of.

Of a block a result holds the sums, not the slices: each gets an equal part of them. It holds the
work of the last block alone, nothing of the reference kernels but the test's time in them, and of
the marker only what is shown. A proof of the gate is not read back.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar

from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import NUMBER, Shape, check_schema, check_shape, misfits, read_json, refuse
from pytest_rlperf.model.block import (
    Block,
    DeviceFacts,
    Drift,
    PhaseResult,
    RankFacts,
    ReferenceTime,
    SideBlock,
    SideDrift,
    Spending,
)
from pytest_rlperf.model.code import CodeChanges
from pytest_rlperf.model.kpi import Kpi, KpiMetric, KpiResult, Reading, Status
from pytest_rlperf.model.memory import Evidence, MemoryResult
from pytest_rlperf.model.metric import (
    EFFICIENCY,
    KINDS,
    NOT_JUDGED,
    GrowthCurve,
    Interval,
    Metric,
    MetricFamily,
    Outcome,
    Severity,
    Verdict,
)
from pytest_rlperf.model.plan import Plan
from pytest_rlperf.model.profile import (
    Cause,
    ComparedLine,
    Count,
    Edit,
    Explanation,
    Function,
    Lines,
    Operator,
    Source,
    Spot,
)
from pytest_rlperf.model.result import (
    Failure,
    JobSize,
    RunResult,
    ScalingRow,
    ScalingTable,
    TestResult,
    Vanished,
)
from pytest_rlperf.model.spec import Scaling, Spec
from pytest_rlperf.wire import typed

Kind = TypeVar("Kind")
Row = dict[str, Any]
ResultContent = Mapping[str, Any]
"""The result as the file holds it and `read_result` returns it, or a part of it."""

SCHEMA = 1
"""Of the result. 1: first version."""

TOP: Shape = {"mode": (str,), "created": (str,), "fingerprint": (dict,), "tests": (list,)}
TEST_SHAPE: Shape = {"nodeid": (str,), "category": (str, NoneType), "metrics": (list,)}
METRIC_SHAPE: Shape = {
    **dict.fromkeys(("name", "direction", "outcome"), (str,)),
    "unit": (str, NoneType),
    **dict.fromkeys(("value", "base_value", "change", "low", "high"), (*NUMBER, NoneType)),
    **dict.fromkeys(("head_blocks", "base_blocks"), (list,)),
}
"""What readers may rely on: fields of these types, absent only where they may be null."""

RATIOED = frozenset(kind.name for kind in KINDS.values() if kind.family is MetricFamily.TIME)
"""Metrics that take part in ratios, so that they must be above zero; sizes need not."""

ANEW = "write it with pytest --rlperf --rlperf-json=FILE"


def read_result(path: Path) -> Row:
    """Return the content of the result in `path`, checked."""
    content = read_json(path, ANEW)
    if not isinstance(content, dict) or "schema" not in content:
        refuse(path, "is no result of this plugin", "name a file that --rlperf-json wrote")
    check_schema(path, content, SCHEMA, ANEW)
    check_shape(path, damages(content), ANEW)
    return content


def read_run(path: Path) -> tuple[RunResult, Row]:
    """Return the run that a result tells of, and its content; or raise a sentence why not."""
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


def damages(result: dict[str, Any]) -> Iterator[str]:
    """Yield where the content has not the shape of the schema; only the first counts."""
    yield from misfits(result, TOP, "")
    for i, test in enumerate(result["tests"]):
        yield from misfits(test, TEST_SHAPE, f"tests[{i}]")
        for k, metric in enumerate(test["metrics"]):
            where = f"tests[{i}].metrics[{k}]"
            yield from misfits(metric, METRIC_SHAPE, where)
            least = 0.0 if metric["name"] in RATIOED else -math.inf
            for name in ("head_blocks", "base_blocks"):
                if not all(type(value) in NUMBER and value > least for value in metric[name]):
                    yield f"{where}.{name}"


# -- runs ---------------------------------------------------------------------------------------


def run_from(content: Row) -> RunResult:
    return RunResult(
        mode=content["mode"],
        against=content["against"],
        commit=content["commit"],
        dirty=content["dirty"],
        created=content["created"],
        fingerprint=content["fingerprint"],
        tests=tuple(map(_test, content["tests"])),
        seconds=content["seconds"],
        budget_s=content.get("budget_seconds"),
        needed_s=content.get("needed_seconds"),
        interrupted=content["interrupted"],
        vanished=tuple(Vanished(**gone) for gone in content["vanished"]),
        kpis=tuple(map(_kpi_result, content["kpis"])),
        scaling=tuple(map(_scaling_table, content["scaling"])),
        base_commit=content.get("base_commit"),
        code_changes=_known(CodeChanges, content.get("code_changes")),
        cost=_known(Spending, content.get("cost")),
    )


def _known(kind: type[Kind], row: Row | None) -> Kind | None:
    """Return the data of a row that has the fields of `kind`; None: there is nothing to tell."""
    return None if row is None else typed(kind, row)


def _kpi_result(row: Row) -> KpiResult:
    reading = None
    if row["value"] is not None:
        reading = Reading(row["value"], row["low"], row["high"], row["blocks"])
    return KpiResult(
        kpi=Kpi(row["name"], KpiMetric(row["metric"]), row["target"], row["alert"], row["unit"]),
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
        size=JobSize(
            row["nprocs"],
            scaling,
            row["oversubscribed"],
            gate_oversubscribed=row["oversubscribed"] and row["gated"],
        ),
        time_ns=row["time_ns"],
        speedup=row["speedup"],
        efficiency=Metric(
            EFFICIENCY,
            NOT_JUDGED if row["outcome"] is None else _verdict(row),
            value=row["efficiency"],
        ),
        throughput=row["throughput"],
        unit=row["unit"],
    )


# -- tests --------------------------------------------------------------------------------------


def _test(row: Row) -> TestResult:
    test = TestResult(
        nodeid=row["nodeid"],
        spec=Spec(category=row["category"], steps=row["steps"], metadata=row["metadata"]),
        metrics=tuple(_metric(each) for each in row["metrics"] if each["name"] in KINDS),
        blocks=tuple(_block(block, row["work"]) for block in row["blocks"]),
        plan=_known(Plan, row["plan"]),
        reference=_known(ReferenceTime, row.get("reference")),
        steps=row["steps"],
        first_call_ns=row["first_call_ns"],
        drift=None if row["drift"] is None else _drift(row["drift"]),
        phases=tuple(map(_phase, row["phases"])),
        failure=_known(Failure, row["failure"]),
        skipped=row["skipped"],
        source_hash=row["source_hash"],
        repeat_command=row["repeat_command"],
        imported=row["imported"],
        differences=tuple(row.get("differences", ())),
        explanation=_explanation(row["profile"]) if "profile" in row else None,
        memory=None if row["memory"] is None else _memory(row["memory"]),
        cost=_known(Spending, row.get("cost")),
    )
    if not test.verdicts:
        raise ValueError(f"nothing was judged of {test.nodeid}")
    return test


def _metric(row: Row) -> Metric:
    return Metric(
        name=row["name"],
        verdict=_verdict(row),
        head=tuple(row["head_blocks"]),
        base=tuple(row["base_blocks"]),
        value=row["value"],
        base_value=row["base_value"],
        amount=_interval(row, "_abs"),
        threshold_abs=row["threshold_abs"],
        block_changes=tuple(row.get("block_changes", ())),
        curve=_known(GrowthCurve, row.get("curve")),
    )


def _verdict(row: Row) -> Verdict:
    severity = row["severity"]
    return Verdict(
        outcome=Outcome(row["outcome"]),
        reason=row["reason"],
        threshold=row["threshold"],
        interval=_interval(row),
        detectable=row.get("detectable"),
        severity=None if severity is None else Severity(severity),
        label=row.get("label"),
    )


def _interval(row: Row, ending: str = "") -> Interval | None:
    """Return the change, with the `ending` "_abs" that in the metric's own unit."""
    change, low, high = (row[f"{name}{ending}"] for name in ("change", "low", "high"))
    return None if change is None else Interval(change, low, high)


def _block(row: Row, work: Row) -> Block:
    return Block(
        head=_side(row["head"], work),
        base=None if row["base"] is None else _side(row["base"], {}),
        core=row["core"],
        index=row["index"],
        steal=row["steal"],
    )


def _side(row: Row, work: Row) -> SideBlock:
    own, wall, cpu = (
        equal_parts(row[name], row["slices"]) for name in ("own_ns", "wall_ns", "cpu_ns")
    )
    return SideBlock(
        own_ns=own,
        wall_ns=wall,
        cpu_ns=cpu,
        calls=row["calls"],
        work=work,
        preempted=row["preempted"],
        ranks=_known(RankFacts, row.get("ranks")),
        device=_known(DeviceFacts, row.get("device")),
    )


def equal_parts(total: int, parts: int) -> tuple[int, ...]:
    """Whole numbers that differ by one at most."""
    each, more = divmod(total, parts)
    return (each + 1,) * more + (each,) * (parts - more)


def _drift(row: Row) -> Drift:
    base = row["base"]
    return Drift(
        row["slices"], _side_drift(row["head"]), None if base is None else _side_drift(base)
    )


def _side_drift(row: Row) -> SideDrift:
    return SideDrift(Interval(row["change"], row["low"], row["high"]), row["matters"])


def _phase(row: Row) -> PhaseResult:
    names = ("name", "share", "ns", "base_share", "base_ns", "moved")
    return PhaseResult(**{name: row[name] for name in names}, adds=_interval(row))


def _memory(row: Row) -> MemoryResult:
    trouble = row["trouble"]
    return MemoryResult(
        repeats=row["repeats"],
        head=typed(Evidence, row["head"]),
        base=_known(Evidence, row["base"]),
        trouble=None if trouble is None else Verdict(Outcome(row["trouble_outcome"]), trouble),
    )


# -- profiles -----------------------------------------------------------------------------------

SOURCES = {True: Source.CHANGED, False: Source.SAME, None: Source.UNKNOWN}


def _explanation(row: Row) -> Explanation:
    graph = row["flame_graph"]
    return Explanation(
        causes=tuple(map(_cause, row["functions"])),
        edits=tuple(map(_edit, row.get("edits", ()))),  # not in older ones
        sole=row.get("sole", False),
        pairs=row["pairs"],
        change=row["change"],
        computing=row["computing"],
        note=row["note"],
        graph=None if graph is None else Path(graph),
        lines=None if row["lines"] is None else _lines(row["lines"]),
        operators=tuple(Operator(**each) for each in row.get("operators", ())),  # not in older ones
    )


def _cause(row: Row) -> Cause:
    return Cause(
        function=Function(row["file"], row["function"]),
        share=row["share"],
        change_ns=row["change_ns"],
        calls=typed(Count, row["calls"]),
        time_ratio=row["time_ratio"],
        callees=tuple((name, typed(Count, count)) for name, count in row["callees"].items()),
        source=SOURCES[row["source_changed"]],
        compiled=row["compiled"],
        inlined=tuple(map(_function, row["inlined"])),
        at=None if row.get("at") is None else Spot(**row["at"]),  # older results have none
    )


def _edit(row: Row) -> Edit:
    at = None if row["at"] is None else Spot(**row["at"])
    return Edit(Function(row["file"], row["function"]), at, tuple(row["diff"]))


def _function(text: str) -> Function:
    """Return the function of this name: a file's may hold a colon, a function's does not."""
    file, _, name = text.rpartition(":")
    return Function(file, name)


def _lines(row: Row) -> Lines:
    return Lines(row["function"], tuple(map(_line, row["lines"])))


def _line(row: Row) -> ComparedLine:
    return ComparedLine(row["line"], row["text"], row["hits"], row["base_ns"], row["head_ns"])
