"""Starts of fresh processes: one observation a block, judged as time is."""

import math

import pytest

from pytest_rlperf.baselines.levels import kernel_ratios
from pytest_rlperf.metrics.times import LEAST_ALLOWED, start_block, start_gate, start_metric
from pytest_rlperf.model.block import Block, Reference
from pytest_rlperf.model.metric import Outcome, Verdict
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.stats.decide import Gate, decide
from pytest_rlperf.stats.estimate import log_ratios
from pytest_rlperf.stats.verdicts import Ended
from tests.factories import side

MS = 10**6
NAME = "first_call"


def a_block(head_ms: float, base_ms: float | None) -> Block:
    """Its slices take other times than its start."""
    base = None if base_ms is None else side([MS] * 4, starts_ns={NAME: base_ms * MS})
    return Block(side([2 * MS] * 4, starts_ns={NAME: head_ms * MS}), base, core=0)


def test_a_block_has_one_observation_of_it():
    found = start_block(a_block(30, 20), NAME)
    assert found.head.own_ns == (30 * MS,)
    assert log_ratios(found).typical == pytest.approx(math.log(1.5))


def test_reference_kernels_are_those_of_the_whole_block():
    kernels = Reference({"interpreter": (1000.0, 3000.0, 2000.0, 2000.0)})
    head = a_block(30, None).head
    found = kernel_ratios(start_block(Block(head, reference=kernels), NAME))
    assert found["interpreter"].typical == pytest.approx(math.log(30 * MS / 2000))


@pytest.mark.parametrize(
    ("given", "own", "allowed"), [(0.05, None, LEAST_ALLOWED), (0.3, None, 0.3), (0.02, 0.02, 0.02)]
)
def test_it_is_allowed_a_little_more_unless_the_test_says_otherwise(
    given: float, own: float | None, allowed: float
):
    assert start_gate(Gate(given), Spec(threshold=own)).threshold == allowed


def test_a_slower_start_is_a_regression_with_its_times():
    blocks = [start_block(a_block(30 + k / 100, 20), NAME) for k in range(20)]
    found = decide([log_ratios(block) for block in blocks], Gate(0.1))
    metric = start_metric(NAME, blocks, found, None, 0.1, labels=(), interrupted=False)
    assert (metric.name, metric.unit) == (NAME, "ns")
    assert metric.verdict.outcome is Outcome.REGRESSED
    assert metric.value == pytest.approx(30 * MS, rel=0.01)
    assert metric.base_value == pytest.approx(20 * MS, rel=0.01)
    assert len(metric.head) == len(metric.base) == 20


def test_against_another_machine_its_change_is_shown():
    blocks = [start_block(a_block(30 + k / 100, 20), NAME) for k in range(5)]
    found = decide([log_ratios(block) for block in blocks], Gate(0.1))
    foreign = Ended(Outcome.INCOMPARABLE, "saved on another machine", shown=True)
    metric = start_metric(NAME, blocks, found, foreign, 0.1, labels=(), interrupted=False)
    assert metric.verdict == Verdict(foreign.outcome, foreign.reason, interval=found.interval)
    assert metric.base_value == pytest.approx(20 * MS, rel=0.01)


def test_without_a_partner_its_time_is_shown():
    blocks = [start_block(a_block(30, None), NAME)] * 3
    metric = start_metric(NAME, blocks, None, Ended.alone(), 0.1, labels=(), interrupted=False)
    assert metric.verdict.outcome is Outcome.NO_BASELINE
    assert (metric.value, metric.base, metric.base_value) == (30 * MS, (), None)
