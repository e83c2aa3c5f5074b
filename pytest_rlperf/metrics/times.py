"""Times that are judged: of a call, and of what a fresh process does once.

The time of a call and the throughput of a test that declares its steps are one verdict shown twice:
steps a second are the steps over the time.

A fresh process imports modules, and makes a first call with all that it compiles. A block is a
fresh process of each side, so it gives one observation, which is judged as a slice of time would
be: against the other side's, or against the reference kernels that played in that block.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pytest_rlperf.model.block import Block, Reference, SideBlock
from pytest_rlperf.model.metric import THROUGHPUT, TIME, Direction, Metric, MetricFamily, Verdict
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.stats.decide import Decision, Gate
from pytest_rlperf.stats.verdicts import Ended, verdict_of


def time_metrics(
    verdict: Verdict,
    blocks: Sequence[Block] = (),
    steps: int | None = None,
    log_ratios: Sequence[float] = (),
    scouted_ns: Sequence[float] = (),
) -> tuple[Metric, ...]:
    """Return the time of these blocks, and the throughput where the `steps` of a call are known.

    `log_ratios` are what the interval rests on: by pairs, or by the sums where the label says so.
    Without a block the value is what head's scout saw.
    """
    head = [block.head.call_ns for block in blocks]
    base = [block.base.call_ns for block in blocks if block.base is not None]
    changes = tuple(map(math.expm1, log_ratios))
    time = _metric(TIME, verdict, head, base, changes)
    if not head and scouted_ns:
        time = replace(time, value=scouted_ns[0])
    if steps is None:
        return (time,)
    head, base = ([steps * 1e9 / ns for ns in side] for side in (head, base))
    return time, _metric(THROUGHPUT, verdict, head, base, changes)


def _metric(
    name: str,
    verdict: Verdict,
    head: Sequence[float],
    base: Sequence[float],
    changes: tuple[float, ...],
) -> Metric:
    metric = Metric(name, verdict, tuple(head), tuple(base), block_changes=changes)
    if not head:
        return metric
    value = statistics.median(head)
    if base:
        return replace(metric, value=value, base_value=statistics.median(base))
    if verdict.interval is None:
        return replace(metric, value=value)
    # A stored baseline holds no seconds: what it would have taken now.
    worse = 1 + verdict.interval.change
    lower = metric.direction is Direction.LOWER
    return replace(metric, value=value, base_value=value / worse if lower else value * worse)


def with_time_verdict(test: TestResult, verdict: Verdict) -> TestResult:
    """Return the test with another verdict on its time, and so on its throughput."""
    return replace(
        test,
        metrics=tuple(
            _metric(m.name, verdict, m.head, m.base, m.block_changes)
            if m.family is MetricFamily.TIME
            else m
            for m in test.metrics
        ),
    )


# -- starts of a fresh process --------------------------------------------------------------------

LEAST_ALLOWED = 0.10
"""Unless the test has a threshold of its own: one observation a block is not known as well as the
typical pair of many slices."""


def start_key(nodeid: str, name: str) -> str:
    """Return the name under which the start of a test is compared, as if it were a test itself."""
    return f"{nodeid} {name}"


def start_block(block: Block, name: str) -> Block:
    """Return the block as if the start were all that it had measured."""
    return replace(
        block,
        head=_start_side(block.head, name),
        base=None if block.base is None else _start_side(block.base, name),
        reference=None if block.reference is None else _whole(block.reference),
    )


def _start_side(side: SideBlock, name: str) -> SideBlock:
    start_ns = (max(1, round(side.starts_ns[name])),)
    return SideBlock(own_ns=start_ns, wall_ns=start_ns, cpu_ns=start_ns, calls=1, work=side.work)


def _whole(reference: Reference) -> Reference:
    times = reference.call_ns.items()
    return Reference({name: (statistics.fmean(calls),) for name, calls in times})


def start_gate(gate: Gate, spec: Spec) -> Gate:
    """Return the gate of a start, which allows more than that of time unless the test says."""
    if spec.threshold is not None:
        return gate
    return replace(gate, threshold=max(LEAST_ALLOWED, gate.threshold))


def start_metric(
    name: str,
    blocks: Sequence[Block],
    decision: Decision | None,
    ended: Ended | None,
    threshold: float,
    *,
    labels: Iterable[str],
    interrupted: bool,
) -> Metric:
    """Return a start with its verdict; `blocks` are those that `start_block` makes."""
    verdict = verdict_of(
        decision,
        ended,
        threshold,
        failed=False,
        skipped=False,
        labels=labels,
        interrupted=interrupted,
    )
    head = tuple(block.head.call_ns for block in blocks)
    value = statistics.median(head) if head else None
    worse = 1 + verdict.interval.change if verdict.interval else None
    return Metric(
        name=name,
        verdict=verdict,
        head=head,
        base=tuple(block.base.call_ns for block in blocks if block.base is not None),
        value=value,
        base_value=value / worse if value is not None and worse else None,
    )
