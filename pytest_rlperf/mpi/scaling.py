"""Speed-up and efficiency over the sizes of an MPI job, and whether efficiency was lost.

Efficiency is what a rank of a large job does in comparison with one of the smallest job. Of two
revisions its change is the quotient of two changes in time, that of the large job and that of the
smallest: on the log scale a difference of two means over independent blocks, with the interval of
Welch (Biometrika 34, 1947).
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pytest_rlperf.metrics.times import with_time_verdict
from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.metric import (
    COMPARED,
    EFFICIENCY,
    NOT_JUDGED,
    Interval,
    Metric,
    Outcome,
    Verdict,
)
from pytest_rlperf.model.quantity import format_percent, format_rate, format_time
from pytest_rlperf.model.result import (
    OVERSUBSCRIBED,
    JobSize,
    RunResult,
    ScalingRow,
    ScalingTable,
    TestResult,
)
from pytest_rlperf.model.spec import Scaling
from pytest_rlperf.report.text import WORDS, Rows, aligned, render_interval, render_word
from pytest_rlperf.stats.decide import REPORTED_CONFIDENCE, Gate
from pytest_rlperf.stats.estimate import Estimate, estimate
from pytest_rlperf.stats.verdicts import severity

SIZE = re.compile(r"(?<=[\[-])nprocs=\d+(?=[\]-])")


def family(nodeid: str) -> str:
    """Return the node id without the size of the job: the same for all sizes of a test."""
    return SIZE.sub("nprocs=*", nodeid)


def efficiencies(sizes: Iterable[tuple[str, JobSize | None]]) -> int:
    """Return how many verdicts on efficiency tests with these node ids and sizes will have."""
    known = [family(nodeid) for nodeid, size in sizes if size is not None]
    return len(known) - len(set(known))


def scaling_tables(tests: Sequence[TestResult], judged: int) -> tuple[ScalingTable, ...]:
    """Return a table for each test that was measured with two sizes at least; `judged` verdicts
    share the build's false alarms.
    """
    families: dict[str, list[TestResult]] = {}
    for test in tests:
        if test.size is not None and test.blocks:
            families.setdefault(family(test.nodeid), []).append(test)
    return tuple(_table(name, sizes, judged) for name, sizes in families.items() if len(sizes) > 1)


def _table(name: str, tests: Sequence[TestResult], judged: int) -> ScalingTable:
    first, *others = sorted(tests, key=lambda test: _size(test).nprocs)
    rows = [_row(first, first), *(_judged_row(test, first, judged) for test in others)]
    return ScalingTable(name, _size(first).scaling, tuple(rows))


def _size(test: TestResult) -> JobSize:
    assert test.size is not None
    return test.size


def _row(test: TestResult, first: TestResult) -> ScalingRow:
    """Return the row of one size without a verdict; `first` is the smallest size."""
    size, time_ns = _size(test), _time_ns(test)
    more_ranks = size.nprocs / _size(first).nprocs
    more_work = more_ranks if size.scaling is Scaling.WEAK else 1.0
    speedup = more_work * _time_ns(first) / time_ns
    return ScalingRow(
        nodeid=test.nodeid,
        size=size,
        time_ns=time_ns,
        speedup=speedup,
        efficiency=Metric(EFFICIENCY, NOT_JUDGED, value=speedup / more_ranks),
        throughput=(test.steps or 1) * 1e9 / time_ns,
        unit="calls/s" if test.steps is None else "steps/s",
    )


def _time_ns(test: TestResult) -> float:
    assert test.time is not None
    assert test.time.value is not None
    return test.time.value


def _judged_row(test: TestResult, first: TestResult, judged: int) -> ScalingRow:
    """Return the row of one size, with a verdict where two revisions were compared."""
    row = _row(test, first)
    against_revision = all(block.base is not None for block in test.blocks)
    ratios, first_ratios = _log_ratios(test), _log_ratios(first)
    enough = min(len(ratios), len(first_ratios)) >= LEAST_BLOCKS
    threshold = test.headline.threshold
    if not against_revision or not enough or threshold is None:
        return row
    lost = difference(estimate(ratios), estimate(first_ratios))
    verdict = _verdict(test, lost, Gate(threshold, judged))
    return replace(row, efficiency=replace(row.efficiency, verdict=verdict))


def _log_ratios(test: TestResult) -> list[float]:
    return [] if test.time is None else list(map(math.log1p, test.time.block_changes))


def difference(one: Estimate, other: Estimate) -> Estimate:
    """Return the difference of two independent means, with the freedom of the poorer at least."""
    parts = [(one.error**2, one.freedom), (other.error**2, other.freedom)]
    variance = math.fsum(square for square, _ in parts)
    spent = math.fsum(square**2 / freedom for square, freedom in parts)
    freedom = int(variance**2 / spent) if spent else min(one.freedom, other.freedom)
    return Estimate(one.mean - other.mean, math.sqrt(variance), max(1, freedom))


def _verdict(test: TestResult, lost: Estimate, gate: Gate) -> Verdict:
    tail = (1 - REPORTED_CONFIDENCE) / 2
    bounds = (lost.mean, lost.bound(tail), lost.bound(1 - tail))
    interval = Interval(*(math.expm1(bound) for bound in bounds))
    outcome, reason = _outcome(test, lost, gate)
    return Verdict(
        outcome,
        reason,
        gate.threshold,
        interval,
        severity=severity(interval.change) if outcome is Outcome.REGRESSED else None,
    )


def _outcome(test: TestResult, lost: Estimate, gate: Gate) -> tuple[Outcome, str]:
    """Judge all blocks by one look, as strict as the last one at a test's time."""
    allowed = format_percent(gate.threshold)
    if gate.exceeded(lost, gate.last):
        time = test.headline.interval
        if time is None or time.low <= 0:
            return Outcome.UNCHANGED, "the smallest size became faster, and this one not slower"
        reason = f"less efficient than the allowed {allowed}, beyond doubt"
        if _size(test).gated:
            return Outcome.REGRESSED, reason
        return Outcome.ACCEPTED, f"{reason}; {not_gated(_size(test))}"
    if lost.bound(1 - gate.last.at_limit) < gate.limit:
        return Outcome.UNCHANGED, f"within the allowed {allowed}"
    return Outcome.INCONCLUSIVE, f"the interval still holds the allowed {allowed}"


def not_gated(size: JobSize) -> str:
    return (
        f"not gated, since {size.nprocs} ranks share fewer cores (gate_oversubscribed=True gates)"
    )


def without_oversubscribed(tests: Iterable[TestResult]) -> tuple[TestResult, ...]:
    """Return the tests with those accepted that became slower in a job of more ranks than cores:
    they are shown, and fail no build.
    """
    return tuple(_ungated(test) for test in tests)


def _ungated(test: TestResult) -> TestResult:
    v = test.headline
    if test.size is None or test.size.gated or v.outcome is not Outcome.REGRESSED:
        return test
    reason = f"{v.reason}; {not_gated(test.size)}"
    return with_time_verdict(test, replace(v, outcome=Outcome.ACCEPTED, reason=reason))


# -- as text ------------------------------------------------------------------------------------


def render_scaling(run: RunResult) -> list[str]:
    """Return one table a test, with an empty line between two."""
    lines: list[str] = []
    for table in run.scaling:
        lines += ["", *_text_table(table)] if lines else _text_table(table)
    return lines


def _text_table(table: ScalingTable) -> list[str]:
    return [render_scaling_title(table), *aligned(scaling_rows(table))]


def render_scaling_title(table: ScalingTable) -> str:
    return f"{table.scaling.value} scaling of {table.test}"


def scaling_rows(table: ScalingTable) -> Rows:
    """Return the titles and a row for each size."""
    head = ["nprocs", "time a call", "speed-up", "efficiency", "throughput", "efficiency lost", ""]
    return [head, *map(_text_row, table.rows)]


def _text_row(row: ScalingRow) -> list[str]:
    return [
        str(row.size.nprocs),
        format_time(row.time_ns),
        f"{row.speedup:.2f}",
        _written(row.efficiency),
        f"{format_rate(row.throughput)} {row.unit}",
        _change(row),
        OVERSUBSCRIBED if row.size.oversubscribed else "",
    ]


def _written(efficiency: Metric) -> str:
    return "" if efficiency.value is None else efficiency.written(efficiency.value)


def _change(row: ScalingRow) -> str:
    v = row.efficiency.verdict
    if v.interval is None or v.outcome not in COMPARED:
        return ""
    change = format_percent(v.interval.change)
    return f"{change} {render_interval(v.interval)} {WORDS[v.outcome]}"


def render_efficiency_lost(run: RunResult, nodeid: str) -> list[str]:
    """Return why a test fails by its efficiency, though its time may be within what is allowed."""
    rows = [row for table in run.scaling for row in table.rows if row.nodeid == nodeid]
    return [_lost(row) for row in rows if row.efficiency.outcome is Outcome.REGRESSED]


def _lost(row: ScalingRow) -> str:
    v = row.efficiency.verdict
    assert v.interval is not None
    assert v.threshold is not None
    return (
        f"{render_word(v)}: efficiency with {row.size.nprocs} ranks "
        f"{format_percent(v.interval.change)} "
        f"{render_interval(v.interval)} worse, allowed {format_percent(v.threshold)}\n"
        f"  why: {v.reason}"
    )
