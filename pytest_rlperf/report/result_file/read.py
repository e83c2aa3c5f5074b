"""The result as it is read back: for every dictionary of `write` the data that it was made of.

Of a block a result holds the sums, not the slices: each gets an equal part of them. It holds the
work of the last block alone, nothing of the reference kernels but the test's time in them, and of
the marker only what is shown. A proof of the gate is not read back.
"""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict, TypeVar, cast

from pytest_rlperf.files import inside
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
from pytest_rlperf.model.environment import Environments
from pytest_rlperf.model.kpi import Kpi, KpiMetric, KpiResult, Reading, Status
from pytest_rlperf.model.learning import LearningResult
from pytest_rlperf.model.memory import Evidence, MemoryResult
from pytest_rlperf.model.metric import (
    EFFICIENCY,
    KINDS,
    LEARNED,
    NOT_JUDGED,
    Direction,
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
    Part,
    RunResult,
    ScalingRow,
    ScalingTable,
    TestResult,
    Vanished,
)
from pytest_rlperf.model.shard import Shard
from pytest_rlperf.model.spec import Scaling, Spec
from pytest_rlperf.reading import (
    LEAST,
    Counting,
    Damage,
    Fits,
    Growth,
    Like,
    Name,
    NotNegative,
    Positive,
    Whole,
    check_schema,
    is_growth,
    read_json,
    refuse,
    refusing,
    typed,
)

Kind = TypeVar("Kind")
Row = dict[str, Any]
ResultContent = Mapping[str, Any]
"""The result as the file holds it and `read_result` returns it, or a part of it."""

SCHEMA = 1
"""Of the result. 1: first version."""

RATIOED = frozenset(kind.name for kind in KINDS.values() if kind.family is MetricFamily.TIME)
"""Metrics that take part in ratios, so that they must be above zero; sizes need not."""

ANEW = "write it with pytest --rlperf --rlperf-json=FILE"


def read_result(path: Path) -> Row:
    """Return the content of the result in `path`, checked."""
    content = read_json(path, ANEW)
    if not isinstance(content, dict) or "schema" not in content:
        refuse(path, "is no result of this plugin", "name a file that --rlperf-json wrote")
    check_schema(path, content, SCHEMA, ANEW)
    with refusing(path, ANEW):
        return checked(content)


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
        return run_from(content, path.parent), content
    except ValueError as error:
        refuse(path, f"contradicts itself ({error})", ANEW)


def checked(content: object) -> Row:
    """Return the content of a result with null for what may be null and is not there."""
    row = typed(RunRow, content)
    for i, test in enumerate(row["tests"]):
        jobs = [ranks for block in test["blocks"] if (ranks := block["head"].get("ranks"))]
        if len({len(ranks["own_ns"]) for ranks in jobs}) > 1:
            raise Damage(f"tests[{i}].blocks")
        for k, metric in enumerate(test["metrics"]):
            change, ratioed = metric["change"], metric["name"] in RATIOED
            if metric["name"] not in LEARNED and change is not None and not is_growth(change):
                raise Damage(f"tests[{i}].metrics[{k}].change")
            for name in ("value", "base_value", "head_blocks", "base_blocks"):
                value = metric[name]
                numbers = value if isinstance(value, list) else [value]
                if ratioed and not all(n is None or n >= LEAST for n in numbers):
                    raise Damage(f"tests[{i}].metrics[{k}].{name}")
    for i, kpi in enumerate(row["kpis"]):
        for name, bound in (("low", kpi["low"]), ("high", kpi["high"])):
            if kpi["value"] is not None and bound is None:
                raise Damage(f"kpis[{i}].{name}")
    return cast(Row, row)


# -- what the file holds: every dictionary of the format, as far as anybody reads it --------------

Values = list[float]
MOST_SLICES = 1_000_000


class MetricRow(TypedDict):
    name: Name
    unit: Name | None
    direction: Direction
    value: float | None
    base_value: float | None
    outcome: Outcome
    change: float | None
    low: float | None
    high: float | None
    change_abs: float | None
    low_abs: float | None
    high_abs: float | None
    threshold: float | None
    threshold_abs: float | None
    detectable: float | None
    severity: Severity | None
    head_blocks: Values
    base_blocks: Values
    label: str | None
    reason: str
    block_changes: NotRequired[list[Growth]]
    curve: NotRequired[Annotated[Row, Like(GrowthCurve)] | None]


def _every_rank(row: Row) -> bool:
    """Return whether every rank has its time, its share of communication and its memory."""
    lengths = {len(row[field.name]) for field in fields(RankFacts)}
    return bool(row["own_ns"]) and len(lengths) == 1


class SideRow(TypedDict):
    slices: Annotated[int, Fits(lambda number: 1 <= number <= MOST_SLICES)]
    calls: Counting
    own_ns: Counting
    wall_ns: Counting
    cpu_ns: Whole
    preempted: Whole
    ranks: NotRequired[Annotated[Row, Like(RankFacts), Fits(_every_rank)] | None]
    device: NotRequired[Annotated[Row, Like(DeviceFacts)] | None]


class BlockRow(TypedDict):
    index: int
    core: int | None
    steal: float
    head: SideRow
    base: SideRow | None


class DriftSideRow(TypedDict):
    change: float
    low: float
    high: float
    matters: bool


class DriftRow(TypedDict):
    slices: Whole
    head: DriftSideRow
    base: DriftSideRow | None


class PhaseRow(TypedDict):
    name: str
    share: float
    ns: float
    base_share: float | None
    base_ns: float | None
    moved: bool
    change: float | None
    low: float | None
    high: float | None


class MemoryRow(TypedDict):
    repeats: Whole
    trouble: str | None
    trouble_outcome: Outcome | None
    head: Annotated[Row, Like(Evidence)]
    base: Annotated[Row, Like(Evidence)] | None


class CauseRow(TypedDict):
    file: str
    function: str
    share: float
    change_ns: float
    calls: Annotated[Row, Like(Count)]
    time_ratio: float | None
    callees: dict[str, Annotated[Row, Like(Count)]]
    source_changed: bool | None
    compiled: bool
    inlined: list[str]
    at: NotRequired[Annotated[Row, Like(Spot)] | None]


class EditRow(TypedDict):
    file: str
    function: str
    at: Annotated[Row, Like(Spot)] | None
    diff: list[str]


class LineRow(TypedDict):
    line: int | None
    text: str
    hits: float
    base_ns: float | None
    head_ns: float | None


class LinesRow(TypedDict):
    function: str
    lines: list[LineRow]


class ProfileRow(TypedDict):
    functions: list[CauseRow]
    edits: NotRequired[list[EditRow]]
    sole: NotRequired[bool]
    pairs: Whole
    change: float | None
    computing: float
    note: str | None
    flame_graph: str | None
    lines: LinesRow | None
    operators: NotRequired[list[Annotated[Row, Like(Operator)]]]


class RanksRow(TypedDict):
    nprocs: Counting
    communication: list[NotNegative]


class TestRow(TypedDict):
    nodeid: Name
    part: NotRequired[Name | None]
    category: Name | None
    metadata: Row
    failure: Annotated[Row, Like(Failure)] | None
    skipped: str | None
    steps: Counting | None
    source_hash: str
    work: dict[str, float]
    witnesses: NotRequired[dict[str, float]]
    repeat_command: str
    first_call_ns: float | None
    plan: Annotated[Row, Like(Plan)] | None
    blocks: list[BlockRow]
    ranks: NotRequired[RanksRow | None]
    drift: DriftRow | None
    reference: Annotated[Row, Like(ReferenceTime)] | None
    phases: list[PhaseRow]
    imported: dict[str, dict[str, str]]
    differences: NotRequired[list[str]]
    memory: MemoryRow | None
    learning: NotRequired[Annotated[Row, Like(LearningResult)] | None]
    cost: Annotated[Row, Like(Spending)] | None
    metrics: list[MetricRow]
    profile: NotRequired[ProfileRow]


class KpiRow(TypedDict):
    name: str
    metric: KpiMetric
    target: float
    alert: float
    unit: str
    value: float | None
    low: float | None
    high: float | None
    blocks: Whole
    status: Status
    reason: str
    nodeid: Name | None


class ScalingRowRow(TypedDict):
    nodeid: Name
    nprocs: Counting
    oversubscribed: bool
    gated: bool
    time_ns: Positive
    speedup: float
    efficiency: float | None
    throughput: float
    unit: Name
    outcome: Outcome | None
    change: Growth | None
    low: float | None
    high: float | None
    threshold: float | None
    severity: Severity | None
    reason: str | None


class ScalingTableRow(TypedDict):
    test: Name
    scaling: Scaling
    rows: list[ScalingRowRow]


class PartRow(TypedDict):
    name: Name
    mode: Name
    against: Name | None
    commit: Name | None
    base_commit: Name | None
    dirty: bool
    created: Name
    seconds: NotNegative
    fingerprint: Row


class RunRow(TypedDict):
    mode: Name
    against: Name | None
    commit: Name | None
    base_commit: Name | None
    dirty: bool
    created: Name
    fingerprint: Row
    tests: list[TestRow]
    seconds: NotNegative
    budget_seconds: NotNegative | None
    needed_seconds: NotNegative | None
    interrupted: bool
    vanished: list[Annotated[Row, Like(Vanished)]]
    kpis: list[KpiRow]
    scaling: list[ScalingTableRow]
    code_changes: Annotated[Row, Like(CodeChanges)] | None
    cost: Annotated[Row, Like(Spending)] | None
    exit_code: NotRequired[Whole]
    environments: NotRequired[Annotated[Row, Like(Environments)] | None]
    shard: NotRequired[Annotated[Row, Like(Shard)] | None]
    parts: NotRequired[list[PartRow]]


# -- runs ---------------------------------------------------------------------------------------


def run_from(content: Row, folder: Path | None = None) -> RunResult:
    """Return the run; figures that it names are looked for below `folder`, and nowhere else."""
    parts = tuple(_part(row) for row in content.get("parts", ()))
    _refuse_unknown_parts(content["tests"], parts)
    return RunResult(
        mode=content["mode"],
        against=content["against"],
        commit=content["commit"],
        dirty=content["dirty"],
        created=content["created"],
        fingerprint=content["fingerprint"],
        tests=tuple(_test(row, folder) for row in content["tests"]),
        seconds=content["seconds"],
        budget_s=content.get("budget_seconds"),
        needed_s=content.get("needed_seconds"),
        interrupted=content["interrupted"],
        vanished=tuple(typed(Vanished, gone) for gone in content["vanished"]),
        kpis=tuple(map(_kpi_result, content["kpis"])),
        scaling=tuple(map(_scaling_table, content["scaling"])),
        base_commit=content.get("base_commit"),
        code_changes=_known(CodeChanges, content.get("code_changes")),
        environments=_known(Environments, content.get("environments")),
        cost=_known(Spending, content.get("cost")),
        shard=_known(Shard, content.get("shard")),
        parts=parts,
    )


def _part(row: Row) -> Part:
    return Part(**{field.name: row[field.name] for field in fields(Part)})


def _refuse_unknown_parts(tests: list[Row], parts: tuple[Part, ...]) -> None:
    names = {part.name for part in parts}
    for test in tests:
        if test.get("part") not in {None, *names}:
            raise ValueError(f"{test['nodeid']} is of {test['part']}, which it does not tell of")


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


def _test(row: Row, folder: Path | None) -> TestResult:
    test = TestResult(
        nodeid=row["nodeid"],
        part=row.get("part"),
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
        explanation=_explanation(row["profile"], folder) if "profile" in row else None,
        memory=None if row["memory"] is None else _memory(row["memory"]),
        learning=_known(LearningResult, row.get("learning")),
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


def _explanation(row: Row, folder: Path | None) -> Explanation:
    graph = row["flame_graph"]
    return Explanation(
        causes=tuple(map(_cause, row["functions"])),
        edits=tuple(map(_edit, row.get("edits", ()))),  # not in older ones
        sole=row.get("sole", False),
        pairs=row["pairs"],
        change=row["change"],
        computing=row["computing"],
        note=row["note"],
        graph=None if graph is None or folder is None else _figure(folder, graph),
        lines=None if row["lines"] is None else _lines(row["lines"]),
        operators=tuple(
            typed(Operator, each) for each in row.get("operators", ())
        ),  # not in older ones
    )


def _figure(folder: Path, name: str) -> Path | None:
    """Return the figure that is named; a folder that was moved as a whole has it beside the result
    still.
    """
    return inside(folder, name) or inside(folder, Path(name).name)


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
        at=_known(Spot, row.get("at")),  # older results have none
    )


def _edit(row: Row) -> Edit:
    at = _known(Spot, row["at"])
    return Edit(Function(row["file"], row["function"]), at, tuple(row["diff"]))


def _function(text: str) -> Function:
    """Return the function of this name: a file's may hold a colon, a function's does not."""
    file, _, name = text.rpartition(":")
    return Function(file, name)


def _lines(row: Row) -> Lines:
    return Lines(row["function"], tuple(map(_line, row["lines"])))


def _line(row: Row) -> ComparedLine:
    return ComparedLine(row["line"], row["text"], row["hits"], row["base_ns"], row["head_ns"])
