"""What measured tests say of the KPIs they claim: absolute values, true of one machine only.

A value is the trimmed mean over the blocks of its test (see `estimate`) on the log scale, with a
99 % interval; an alert is called when the whole interval lies beyond it. An overhead compares two
tests whose blocks are not paired; the error of their difference keeps the smaller of the degrees of
freedom, which is conservative (compare Welch, Biometrika 29, 1938).
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence

from pytest_rlperf.judge.estimate import Estimate, estimate
from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.kpi import WITHOUT, Kpi, KpiResult, Metric, Reading, Status
from pytest_rlperf.model.result import TestResult

CONFIDENCE = 0.99
FEW_SPREAD, FEW_FREEDOM = 0.16, 24
"""For one or two blocks, which have no usable spread of their own: what absolute times of unchanged
code were seen to vary by (standard deviation) over 25 runs on a shared machine."""


class NotMeasured(Exception):
    """Says why; raised and caught here."""


def judge_kpis(
    tests: Sequence[TestResult], kpis: Mapping[str, Kpi], expected: frozenset[str] = frozenset()
) -> tuple[KpiResult, ...]:
    """One result for every claim, and one for each expected KPI that no test claims."""
    claims = [(claim, test) for test in tests for claim in test.spec.kpi]
    partners = {claim: test for claim, test in claims if claim.endswith(WITHOUT)}
    found = [
        _judged(kpis[claim], test, partners.get(claim + WITHOUT))
        for claim, test in claims
        if claim not in partners
    ]
    wanted = expected | {claim.removesuffix(WITHOUT) for claim in partners}
    unclaimed = sorted(wanted - {result.kpi.name for result in found})
    return (*found, *(_unclaimed(kpis[name]) for name in unclaimed))


def _unclaimed(kpi: Kpi) -> KpiResult:
    reason = f"no selected test claims it; mark one with kpi={kpi.name!r}"
    return KpiResult(kpi, Status.NOT_MEASURED, reason)


def _judged(kpi: Kpi, test: TestResult, partner: TestResult | None) -> KpiResult:
    try:
        reading = _read(kpi, test, partner)
    except NotMeasured as why:
        return KpiResult(kpi, Status.NOT_MEASURED, str(why), test.nodeid)
    status, reason = _status(kpi, reading)
    return KpiResult(kpi, status, reason, test.nodeid, reading)


def _status(kpi: Kpi, reading: Reading) -> tuple[Status, str]:
    best = reading.high if kpi.is_worse(reading.low, than=reading.high) else reading.low
    if kpi.is_worse(best, than=kpi.alert):
        return Status.ALERT, "beyond the alert, and so is its whole interval"
    if kpi.is_worse(reading.value, than=kpi.alert):
        return Status.MISSED, "beyond the alert, which its interval still holds"
    if kpi.is_worse(reading.value, than=kpi.target):
        return Status.MISSED, "beyond the target"
    return Status.MET, "within the target"


# -- values ------------------------------------------------------------------------------------


def _read(kpi: Kpi, test: TestResult, partner: TestResult | None) -> Reading:
    values = _values(kpi.metric, test)
    size, blocks = _estimate(values), len(values)
    if kpi.metric is not Metric.OVERHEAD:
        return _reading(size, blocks, lambda log: math.exp(log) / kpi.scale)
    if partner is None:
        claim = kpi.name + WITHOUT
        raise NotMeasured(f"no selected test does the same without; mark one with kpi={claim!r}")
    others = _values(kpi.metric, partner)
    excess, fewest = _difference(size, _estimate(others)), min(blocks, len(others))
    return _reading(excess, fewest, lambda log: math.expm1(log) / kpi.scale)


def _values(metric: Metric, test: TestResult) -> Sequence[float]:
    """One a block, above zero: ns, steps/s or bytes."""
    if test.failure is not None or test.skipped is not None:
        raise NotMeasured(f"{test.nodeid} {'failed' if test.failure else 'was skipped'}")
    times = [block.head.call_ns for block in test.blocks]
    match metric:
        case Metric.TIME | Metric.OVERHEAD:
            values = times
        case Metric.STEP_TIME:
            values = [ns / (test.steps or 1) for ns in times]
        case Metric.THROUGHPUT:
            if test.steps is None:
                raise NotMeasured(f"{test.nodeid} does not say how many steps a call makes")
            values = [test.steps * 1e9 / ns for ns in times]
        case Metric.FIRST_CALL:
            values = [] if test.first_call_ns is None else [test.first_call_ns]
        case Metric.MEMORY:
            values = [max(1.0, number) for number in test.memory_bytes]
    if not values:
        if metric is Metric.MEMORY and test.memory is None:
            raise NotMeasured(
                f"{test.nodeid} does not ask for its memory; mark it with memory=True"
            )
        what = "memory" if metric is Metric.MEMORY else "time"
        raise NotMeasured(f"the {what} of {test.nodeid} was not measured")
    return values


def _estimate(values: Sequence[float]) -> Estimate:
    logs = [math.log(value) for value in values]
    if len(logs) < LEAST_BLOCKS:
        return Estimate(statistics.fmean(logs), FEW_SPREAD, FEW_FREEDOM)
    return estimate(logs)


def _difference(one: Estimate, other: Estimate) -> Estimate:
    return Estimate(
        mean=one.mean - other.mean,
        error=math.hypot(one.error, other.error),
        freedom=min(one.freedom, other.freedom),
    )


def _reading(size: Estimate, blocks: int, in_unit: Callable[[float], float]) -> Reading:
    tail = (1 - CONFIDENCE) / 2
    return Reading(
        value=in_unit(size.mean),
        low=in_unit(size.bound(tail)),
        high=in_unit(size.bound(1 - tail)),
        blocks=blocks,
    )
