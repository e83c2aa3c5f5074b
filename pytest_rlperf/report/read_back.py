"""What is said of one metric: the fields that every row of a result shares."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import refuse
from pytest_rlperf.model.block import (
    Block,
    DeviceFacts,
    Drift,
    PhaseResult,
    RankFacts,
    SideBlock,
    SideDrift,
)
from pytest_rlperf.model.kpi import Kpi, KpiMetric, KpiResult, Reading, Status
from pytest_rlperf.model.memory import (
    METRICS,
    Evidence,
    MemoryMetric,
    MemoryResult,
    MetricResult,
    ProcessPeak,
    Site,
)
from pytest_rlperf.model.metric import (
    EXPONENT,
    FIRST_CALL,
    IMPORT_TIME,
    WORST_FIRST,
    ExtraMetric,
    Interval,
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
from pytest_rlperf.report.result_file import ANEW, read_result

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


# What the profiles of a test said.


SOURCES = {True: Source.CHANGED, False: Source.SAME, None: Source.UNKNOWN}


def explanation_from(row: Row) -> Explanation:
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
    """A file's name may hold a colon, a function's does not."""
    file, _, name = text.rpartition(":")
    return Function(file, name)


def _lines(row: Row) -> Lines:
    return Lines(row["function"], tuple(map(_line, row["lines"])))


def _line(row: Row) -> ComparedLine:
    return ComparedLine(row["line"], row["text"], row["hits"], row["base_ns"], row["head_ns"])


# The memory of a test: its metrics stand among all others, the evidence apart.


BY_NAME = {metric.name: metric for metric in METRICS}


def memory_from(row: Row | None, metrics: Sequence[Row]) -> MemoryResult | None:
    if row is None:
        return None
    trouble = row["trouble"]
    return MemoryResult(
        metrics=tuple(
            _memory_metric(m, BY_NAME[m["name"]]) for m in metrics if m["name"] in BY_NAME
        ),
        repeats=row["repeats"],
        head=_evidence(row["head"]),
        base=None if row["base"] is None else _evidence(row["base"]),
        trouble=None if trouble is None else Verdict(Outcome(row["trouble_outcome"]), trouble),
    )


def _memory_metric(row: Row, metric: MemoryMetric) -> MetricResult:
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


# One test. Of a block a result holds the sums, not the slices: each gets an equal part of them.


EXTRAS = (EXPONENT, IMPORT_TIME, FIRST_CALL)


def read_test(row: Row) -> TestResult:
    memory = memory_from(row["memory"], row["metrics"])
    time = _metric(row, "time")
    peak = _metric(row, "peak_rss")
    failure = row["failure"]
    return TestResult(
        nodeid=row["nodeid"],
        spec=Spec(category=row["category"], steps=row["steps"], metadata=row["metadata"]),
        verdict=_untimed(row, memory.verdicts if memory else ())
        if time is None
        else verdict_from(time, time["label"]),
        blocks=tuple(_block(block, row["work"]) for block in row["blocks"]),
        log_ratios=tuple(map(math.log1p, time["block_changes"])) if time else (),
        plan=None if row["plan"] is None else Plan.from_dict(row["plan"]),
        steps=row["steps"],
        first_call_ns=row["first_call_ns"],
        drift=_drift(row["drift"]),
        phases=tuple(map(_phase, row["phases"])),
        extras=tuple(_extra(each) for each in row["metrics"] if each["name"] in EXTRAS),
        memory_bytes=tuple(peak["head_blocks"]) if peak else (),
        failure=None if failure is None else _failure(failure),
        skipped=row["skipped"],
        source_hash=row["source_hash"],
        repeat_command=row["repeat_command"],
        imported=row["imported"],
        explanation=explanation_from(row["profile"]) if "profile" in row else None,
        timed=time is not None,
        memory=memory,
    )


def _metric(row: Row, name: str) -> Row | None:
    return next((metric for metric in row["metrics"] if metric["name"] == name), None)


def _untimed(row: Row, verdicts: Sequence[Verdict]) -> Verdict:
    """A test of memory alone has the worst verdict on that."""
    if row["failure"] is None and row["skipped"] is None:
        return min(verdicts, key=lambda verdict: WORST_FIRST.index(verdict.outcome))
    return Verdict(Outcome(row["outcome"]), "there is nothing to judge")


def _failure(row: Row) -> Failure:
    return Failure(row["text"], tuple((title, text) for title, text in row["sections"]))


# -- blocks -------------------------------------------------------------------------------------


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


# -- what is told beside time -------------------------------------------------------------------


def _drift(row: Row | None) -> Drift | None:
    if row is None:
        return None
    base = row["base"]
    return Drift(
        row["slices"], _side_drift(row["head"]), None if base is None else _side_drift(base)
    )


def _side_drift(row: Row) -> SideDrift:
    return SideDrift(Interval(row["change"], row["low"], row["high"]), row["matters"])


def _phase(row: Row) -> PhaseResult:
    names = ("name", "share", "ns", "base_share", "base_ns", "moved")
    return PhaseResult(**{name: row[name] for name in names}, adds=interval_from(row))


def _extra(row: Row) -> ExtraMetric:
    curve = row["curve"] or {"sizes": (), "head_ns": (), "base_ns": ()}
    return ExtraMetric(
        name=row["name"],
        unit=row["unit"],
        head=tuple(row["head_blocks"]),
        verdict=verdict_from(row, None if row["curve"] else row["label"]),
        base=tuple(row["base_blocks"]),
        value=row["value"],
        base_value=row["base_value"],
        amount=interval_from(row, "_abs"),
        threshold_abs=row["threshold_abs"],
        sizes=tuple(curve["sizes"]),
        head_ns=tuple(curve["head_ns"]),
        base_ns=tuple(curve["base_ns"]),
    )


# A whole run.


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
        size=JobSize(row["nprocs"], scaling, row["oversubscribed"], row["gated"]),
        time_ns=row["time_ns"],
        speedup=row["speedup"],
        efficiency=row["efficiency"],
        throughput=row["throughput"],
        unit=row["unit"],
        verdict=None if row["outcome"] is None else verdict_from(row),
    )
