"""What a project rules for its tests: regressions it accepts for a while, and KPIs they claim.

An accepted regression is shown as such, and judged again afterwards. A KPI is an absolute value,
true of one machine only: the trimmed mean over the blocks of its test (see `estimate`) on the log
scale, with a 99 % interval; an alert is called when the whole interval lies beyond it. An overhead
compares two tests whose blocks are not paired; the error of their difference keeps the smaller of
the degrees of freedom, which is conservative (compare Welch, Biometrika 29, 1938).
"""

import datetime
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_rlperf.gate.selection import Scope
from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.kpi import WITHOUT, Kpi, KpiMetric, KpiResult, Reading, Status
from pytest_rlperf.model.metric import Metric, Outcome, Verdict
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.project import Exemption, Project, check_claims
from pytest_rlperf.stats.estimate import Estimate, estimate


def with_accepted(
    tests: Iterable[TestResult], entries: Sequence[Exemption], today: datetime.date
) -> tuple[TestResult, ...]:
    return tuple(_with_accepted(test, entry_for(test.nodeid, entries), today) for test in tests)


def _with_accepted(test: TestResult, entry: Exemption | None, today: datetime.date) -> TestResult:
    metrics = (replace(m, verdict=accepted_verdict(m.verdict, entry, today)) for m in test.metrics)
    return replace(test, metrics=tuple(metrics))


def entry_for(nodeid: str, entries: Iterable[Exemption]) -> Exemption | None:
    """Return the entry that names the test itself, or else the first whose pattern matches."""
    matching = [entry for entry in entries if entry.matches(nodeid)]
    exact = (entry for entry in matching if entry.pattern == nodeid)
    return next(exact, next(iter(matching), None))


def accepted_verdict(verdict: Verdict, entry: Exemption | None, today: datetime.date) -> Verdict:
    """Turn a regression within what the entry allows into a pass of its own name; any other keeps
    its verdict, which then says why the entry did not help."""
    if verdict.outcome is not Outcome.REGRESSED or entry is None:
        return verdict
    if today > entry.until:
        return replace(
            verdict,
            reason=f"{verdict.reason}; it was accepted until {entry.until} only ({entry.reason}): "
            "mend it, or renew the entry in [tool.rlperf.accepted]",
        )
    if _exceeds(verdict, entry.allowed):
        return replace(
            verdict,
            reason=f"{verdict.reason}; more than the {format_percent(entry.allowed or 0)} that are "
            f"accepted until {entry.until} ({entry.reason})",
        )
    return replace(
        verdict,
        outcome=Outcome.ACCEPTED,
        reason=f"{verdict.reason}, but accepted until {entry.until}: {entry.reason}",
    )


def _exceeds(verdict: Verdict, allowed: float | None) -> bool:
    """Return whether the change is beyond doubt larger: the whole interval lies above."""
    if allowed is None or verdict.interval is None:
        return False
    return verdict.interval.low > allowed


def stale_entries(
    entries: Iterable[Exemption], nodeids: Sequence[str], today: datetime.date
) -> list[str]:
    """Return a sentence for each entry that has no test in the whole suite, or no time left."""
    lines = []
    for entry in entries:
        where = f"[tool.rlperf.accepted], {entry.pattern!r}"
        if not any(entry.matches(nodeid) for nodeid in nodeids):
            lines.append(f"{where}: no collected test matches it; correct or remove it.")
        elif today > entry.until:
            lines.append(f"{where}: it ended on {entry.until}; remove it.")
    return lines


# -- KPIs ----------------------------------------------------------------------------------------

CONFIDENCE = 0.99
FEW_SPREAD, FEW_FREEDOM = 0.16, 24
"""The spread of one or two blocks, which have no usable one of their own: what absolute times of
unchanged code were seen to vary by (standard deviation) over 25 runs on a shared machine."""


class NotMeasured(Exception):
    """A KPI has no value, and this says why; raised and caught here."""


def judge_kpis(
    tests: Sequence[TestResult], kpis: Mapping[str, Kpi], expected: frozenset[str] = frozenset()
) -> tuple[KpiResult, ...]:
    """Return one result for every claim, and one for each expected KPI that no test claims."""
    claims = [(claim, test) for test in tests for claim in test.spec.kpi]
    partners = {claim: test for claim, test in claims if claim.endswith(WITHOUT)}
    claimed = [
        _judged(kpis[claim], test, partners.get(claim + WITHOUT))
        for claim, test in claims
        if claim not in partners
    ]
    wanted = expected | {claim.removesuffix(WITHOUT) for claim in partners}
    unclaimed = sorted(wanted - {result.kpi.name for result in claimed})
    reason = "no selected test claims it; mark one with kpi={!r}"
    return (
        *claimed,
        *(KpiResult(kpis[n], Status.NOT_MEASURED, reason.format(n)) for n in unclaimed),
    )


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


def _read(kpi: Kpi, test: TestResult, partner: TestResult | None) -> Reading:
    values = _values(kpi.metric, test)
    size, blocks = _estimate(values), len(values)
    if kpi.metric is not KpiMetric.OVERHEAD:
        return _reading(size, blocks, lambda log: math.exp(log) / kpi.scale)
    if partner is None:
        claim = kpi.name + WITHOUT
        raise NotMeasured(f"no selected test does the same without; mark one with kpi={claim!r}")
    others = _values(kpi.metric, partner)
    excess, fewest = _difference(size, _estimate(others)), min(blocks, len(others))
    return _reading(excess, fewest, lambda log: math.expm1(log) / kpi.scale)


def _times(time: Metric) -> tuple[float, ...]:
    """Return the time of each block, or of a test without one what its scout saw."""
    return time.head if time.head or time.value is None else (time.value,)


def _values(metric: KpiMetric, test: TestResult) -> Sequence[float]:
    """Return a value a block, above zero: ns, steps/s or bytes."""
    if test.failure is not None or test.skipped is not None:
        raise NotMeasured(f"{test.nodeid} {'failed' if test.failure else 'was skipped'}")
    times = () if test.time is None else _times(test.time)
    values: Sequence[float]
    match metric:
        case KpiMetric.TIME | KpiMetric.OVERHEAD:
            values = times
        case KpiMetric.STEP_TIME:
            values = [ns / (test.steps or 1) for ns in times]
        case KpiMetric.THROUGHPUT:
            if test.steps is None:
                raise NotMeasured(f"{test.nodeid} does not say how many steps a call makes")
            values = [test.steps * 1e9 / ns for ns in times]
        case KpiMetric.FIRST_CALL:
            values = [] if test.first_call_ns is None else [test.first_call_ns]
        case KpiMetric.MEMORY:
            values = [max(1.0, number) for number in test.memory_bytes]
    if not values:
        if metric is KpiMetric.MEMORY and test.memory is None:
            raise NotMeasured(
                f"{test.nodeid} does not ask for its memory; mark it with memory=True"
            )
        what = "memory" if metric is KpiMetric.MEMORY else "time"
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


# -- both applied to a run -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rules:
    """The tables of a project, applied to a run."""

    project: Project
    today: datetime.date

    def check(self, specs: Mapping[str, Spec]) -> None:
        check_claims({nodeid: spec.kpi for nodeid, spec in specs.items()}, self.project.kpis)

    def applied(self, run: RunResult) -> RunResult:
        return replace(
            run,
            tests=with_accepted(run.tests, self.project.accepted, self.today),
            kpis=judge_kpis(run.tests, self.project.kpis, self.project.expected),
        )

    def notices(self, nodeids: Sequence[str], scope: Scope) -> tuple[str, ...]:
        """Name entries that can go: known only of the part of the suite that was collected, whose
        tests are `nodeids`.
        """
        if not scope.whole:
            return ()
        entries = [entry for entry in self.project.accepted if scope.holds(entry.pattern)]
        return tuple(stale_entries(entries, nodeids, self.today))
