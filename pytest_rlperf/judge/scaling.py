"""Speed-up and efficiency over the sizes of an MPI job, and whether efficiency was lost.

Efficiency is what a rank of a large job does in comparison with one of the smallest job. Of two
revisions its change is the quotient of two changes in time, that of the large job and that of the
smallest: on the log scale a difference of two means over independent blocks, with the interval of
Welch (Biometrika 34, 1947).
"""

import math
import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pytest_rlperf.judge.decide import REPORTED_CONFIDENCE, Gate
from pytest_rlperf.judge.estimate import Estimate, estimate
from pytest_rlperf.judge.verdicts import severity
from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.rank_spec import Scaling
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.model.scaling import JobSize, ScalingRow, ScalingTable
from pytest_rlperf.model.verdict import Interval, Outcome, Verdict

SIZE = re.compile(r"(?<=[\[-])nprocs=\d+(?=[\]-])")


def family(nodeid: str) -> str:
    """The same for all sizes of a test."""
    return SIZE.sub("nprocs=*", nodeid)


def efficiencies(sizes: Iterable[tuple[str, JobSize | None]]) -> int:
    """How many verdicts on efficiency tests with these node ids and sizes will have."""
    known = [family(nodeid) for nodeid, size in sizes if size is not None]
    return len(known) - len(set(known))


def scaling_tables(tests: Sequence[TestResult], judged: int) -> tuple[ScalingTable, ...]:
    """Of tests that were measured with two sizes at least; `judged` verdicts share the build's
    false alarms.
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
    size, time_ns = _size(test), _time_ns(test)
    more_ranks = size.nprocs / _size(first).nprocs
    more_work = more_ranks if size.scaling is Scaling.WEAK else 1.0
    speedup = more_work * _time_ns(first) / time_ns
    return ScalingRow(
        nodeid=test.nodeid,
        size=size,
        time_ns=time_ns,
        speedup=speedup,
        efficiency=speedup / more_ranks,
        throughput=(test.steps or 1) * 1e9 / time_ns,
        unit="calls/s" if test.steps is None else "steps/s",
    )


def _time_ns(test: TestResult) -> float:
    return statistics.median(block.head.call_ns for block in test.blocks)


def _judged_row(test: TestResult, first: TestResult, judged: int) -> ScalingRow:
    row = _row(test, first)
    against_revision = all(block.base is not None for block in test.blocks)
    enough = min(len(test.log_ratios), len(first.log_ratios)) >= LEAST_BLOCKS
    if not against_revision or not enough or test.verdict.threshold is None:
        return row
    apart = difference(estimate(test.log_ratios), estimate(first.log_ratios))
    return replace(row, verdict=_verdict(test, apart, Gate(test.verdict.threshold, judged)))


def difference(one: Estimate, other: Estimate) -> Estimate:
    """Of two independent means; its freedom is at least that of the poorer one."""
    parts = [(one.error**2, one.freedom), (other.error**2, other.freedom)]
    variance = math.fsum(square for square, _ in parts)
    spent = math.fsum(square**2 / freedom for square, freedom in parts)
    freedom = int(variance**2 / spent) if spent else min(one.freedom, other.freedom)
    return Estimate(one.mean - other.mean, math.sqrt(variance), max(1, freedom))


def _verdict(test: TestResult, apart: Estimate, gate: Gate) -> Verdict:
    tail = (1 - REPORTED_CONFIDENCE) / 2
    bounds = (apart.mean, apart.bound(tail), apart.bound(1 - tail))
    interval = Interval(*(math.expm1(bound) for bound in bounds))
    outcome, reason = _outcome(test, apart, gate)
    return Verdict(
        outcome,
        reason,
        gate.threshold,
        interval,
        severity=severity(interval.change) if outcome is Outcome.REGRESSED else None,
    )


def _outcome(test: TestResult, apart: Estimate, gate: Gate) -> tuple[Outcome, str]:
    """One look at all blocks, as strict as the last one at a test's time."""
    allowed = format_percent(gate.threshold)
    if gate.exceeded(apart, gate.last):
        time = test.verdict.interval
        if time is None or time.low <= 0:
            return Outcome.UNCHANGED, "the smallest size became faster, and this one not slower"
        said = f"less efficient than the allowed {allowed}, beyond doubt"
        if _size(test).gated:
            return Outcome.REGRESSED, said
        return Outcome.ACCEPTED, f"{said}; {not_gated(_size(test))}"
    if apart.bound(1 - gate.last.at_limit) < gate.limit:
        return Outcome.UNCHANGED, f"within the allowed {allowed}"
    return Outcome.INCONCLUSIVE, f"the interval still holds the allowed {allowed}"


def not_gated(size: JobSize) -> str:
    return (
        f"not gated, since {size.nprocs} ranks share fewer cores (gate_oversubscribed=True gates)"
    )


def without_oversubscribed(tests: Iterable[TestResult]) -> tuple[TestResult, ...]:
    """A job with more ranks than cores that became slower is shown, and fails no build."""
    return tuple(_ungated(test) for test in tests)


def _ungated(test: TestResult) -> TestResult:
    v = test.verdict
    if test.size is None or test.size.gated or v.outcome is not Outcome.REGRESSED:
        return test
    reason = f"{v.reason}; {not_gated(test.size)}"
    return replace(test, verdict=replace(v, outcome=Outcome.ACCEPTED, reason=reason))
