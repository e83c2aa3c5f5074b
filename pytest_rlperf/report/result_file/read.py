"""The result as it is read back: for every dictionary of `write` the data that it was made of.

Of a block a result holds the sums, not the slices: each gets an equal part of them. It holds the
work of the last block alone, nothing of the reference kernels but the test's time in them, and of
the marker only what is shown. A proof of the gate is not read back.
"""

from pathlib import Path
from typing import Any

from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import check_schema, check_shape, read_json, refuse
from pytest_rlperf.model.block import (
    Block,
    DeviceFacts,
    Drift,
    PhaseResult,
    RankFacts,
    ReferenceTime,
    SideBlock,
    SideDrift,
)
from pytest_rlperf.model.code import CodeChanges
from pytest_rlperf.model.cost import Spending
from pytest_rlperf.model.kpi import Kpi, KpiMetric, KpiResult, Reading, Status
from pytest_rlperf.model.memory import Evidence, MemoryResult, ProcessPeak, Site
from pytest_rlperf.model.metric import (
    EFFICIENCY,
    KINDS,
    NOT_JUDGED,
    GrowthCurve,
    Interval,
    Metric,
    Outcome,
    Severity,
    Verdict,
)
from pytest_rlperf.model.plan import Plan
from pytest_rlperf.model.profile import (
    Cause,
    ComparedLine,
    Count,
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
from pytest_rlperf.report.result_file.schema import ANEW, SCHEMA, damages
from pytest_rlperf.wire import typed

Row = dict[str, Any]


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
        code_changes=_code_changes(content.get("code_changes")),
        cost=_cost(content.get("cost")),
    )


def _code_changes(row: Row | None) -> CodeChanges | None:
    return None if row is None else typed(CodeChanges, row)


def _cost(row: Row | None) -> Spending | None:
    return None if row is None else typed(Spending, row)


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
        plan=None if row["plan"] is None else typed(Plan, row["plan"]),
        reference=None if row.get("reference") is None else ReferenceTime(**row["reference"]),
        steps=row["steps"],
        first_call_ns=row["first_call_ns"],
        drift=None if row["drift"] is None else _drift(row["drift"]),
        phases=tuple(map(_phase, row["phases"])),
        failure=None if row["failure"] is None else _failure(row["failure"]),
        skipped=row["skipped"],
        source_hash=row["source_hash"],
        repeat_command=row["repeat_command"],
        imported=row["imported"],
        differences=tuple(row.get("differences", ())),
        explanation=_explanation(row["profile"]) if "profile" in row else None,
        memory=None if row["memory"] is None else _memory(row["memory"]),
        cost=_cost(row.get("cost")),
    )
    if not test.verdicts:
        raise ValueError(f"nothing was judged of {test.nodeid}")
    return test


def _failure(row: Row) -> Failure:
    return Failure(row["text"], tuple((title, text) for title, text in row["sections"]))


def _metric(row: Row) -> Metric:
    curve = row.get("curve")
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
        curve=None if curve is None else GrowthCurve(**{k: tuple(v) for k, v in curve.items()}),
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
    ranks, device = row.get("ranks"), row.get("device")
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
        ranks=None if ranks is None else RankFacts(**{k: tuple(v) for k, v in ranks.items()}),
        device=None if device is None else DeviceFacts(**device),
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
        head=_evidence(row["head"]),
        base=None if row["base"] is None else _evidence(row["base"]),
        trouble=None if trouble is None else Verdict(Outcome(row["trouble_outcome"]), trouble),
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


# -- profiles -----------------------------------------------------------------------------------


SOURCES = {True: Source.CHANGED, False: Source.SAME, None: Source.UNKNOWN}


def _explanation(row: Row) -> Explanation:
    graph = row["flame_graph"]
    return Explanation(
        causes=tuple(map(_cause, row["functions"])),
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
        calls=_count(row["calls"]),
        time_ratio=row["time_ratio"],
        callees=tuple((name, _count(count)) for name, count in row["callees"].items()),
        source=SOURCES[row["source_changed"]],
        compiled=row["compiled"],
        inlined=tuple(map(_function, row["inlined"])),
        at=None if row.get("at") is None else Spot(**row["at"]),  # older results have none
    )


def _count(row: Row) -> Count:
    return Count(row["base"], row["head"], row["certain"])


def _function(text: str) -> Function:
    """Return the function of this name: a file's may hold a colon, a function's does not."""
    file, _, name = text.rpartition(":")
    return Function(file, name)


def _lines(row: Row) -> Lines:
    return Lines(row["function"], tuple(map(_line, row["lines"])))


def _line(row: Row) -> ComparedLine:
    return ComparedLine(row["line"], row["text"], row["hits"], row["base_ns"], row["head_ns"])
