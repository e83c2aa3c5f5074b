"""The time of a call, and the throughput of a test that declares its steps.

They are one verdict shown twice: steps a second are the steps over the time.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

from pytest_rlperf.model.block import Block
from pytest_rlperf.model.metric import THROUGHPUT, TIME, Direction, Metric, MetricFamily, Verdict
from pytest_rlperf.model.result import TestResult


def time_metrics(
    verdict: Verdict,
    blocks: Sequence[Block] = (),
    steps: int | None = None,
    log_ratios: Sequence[float] = (),
) -> tuple[Metric, ...]:
    """Return the time of these blocks, and the throughput where the `steps` of a call are known.

    `log_ratios` are what the interval rests on: by pairs, or by the sums where the label says so.
    """
    head = [block.head.call_ns for block in blocks]
    base = [block.base.call_ns for block in blocks if block.base is not None]
    changes = tuple(map(math.expm1, log_ratios))
    time = _metric(TIME, verdict, head, base, changes)
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
