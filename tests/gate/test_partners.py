"""Whom a test plays with, and what that means for its plan, its blocks and its verdict."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rlperf.baselines.levels import Level
from pytest_rlperf.gate.partners import (
    SAVE_BLOCKS,
    SOLO_BLOCKS,
    THRESHOLD_AGAINST,
    THRESHOLD_STORED,
    Alone,
    BaseRevision,
    Comparison,
    Kernels,
    Partner,
    gate_of,
)
from pytest_rlperf.model.block import Block, LogRatios
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.plan import Mode, Plan, Scouted
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.stats.verdicts import Ended
from pytest_rlperf.wire import KernelSpeeds, Measurement
from tests.factories import a_session, side

NODE, OTHER, UNKNOWN = "a.py::known", "a.py::changed", "a.py::new"
MS = 10**6
PLAN = Plan(Mode.SLICED, calls=2, pairs=32, warmup=1)
SEEN = Scouted(call_ns=MS, first_ns=MS, cpu_share=1.0, processes=1)
SPEEDS = KernelSpeeds({"blas": 50_000.0, "interpreter": 50_000.0, "stride": 100_000.0})
AT = LogRatios(1.0, 2.0)
LEVEL = Level(
    weights={"stride": 0.5, "clock": 0.5},
    sessions=(a_session(blocks=({"stride": AT, "clock": AT},) * 6),),
    work={"updates": 3.0},
    label="saved with another build of Python (3.11.2)",
)
CHANGED = Ended(Outcome.INCOMPARABLE, "the benchmark itself changed")
KERNELS = Kernels({NODE: LEVEL, OTHER: CHANGED})
SAVING = Kernels({NODE: LEVEL, OTHER: CHANGED}, saving=True)


# -- thresholds ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("partner", "default"),
    [
        (Alone, THRESHOLD_AGAINST),
        (BaseRevision, THRESHOLD_AGAINST),
        (lambda given=None: Kernels({}, threshold=given), THRESHOLD_STORED),
    ],
)
def test_a_marker_comes_before_the_run_and_the_run_before_the_default(partner: Any, default: float):
    assert gate_of(partner(), NODE, Spec(), 3).threshold == default
    assert gate_of(partner(0.2), NODE, Spec(), 3).threshold == 0.2
    assert gate_of(partner(0.2), NODE, Spec(threshold=0.3), 3).threshold == 0.3
    assert gate_of(partner(), NODE, Spec(), 3).tests == 3


def test_the_gate_of_a_stored_test_is_blurred_and_no_narrower_than_its_floor():
    assert gate_of(KERNELS, NODE, Spec(), 1).blur == LEVEL.unit().blur > 0
    assert gate_of(KERNELS, OTHER, Spec(), 1).blur == 0
    elsewhere = Kernels({NODE: replace(LEVEL, floor=0.25)})
    assert gate_of(elsewhere, NODE, Spec(threshold=0.05), 1).threshold == 0.25
    assert gate_of(elsewhere, NODE, Spec(threshold=0.5), 1).threshold == 0.5


# -- plans --------------------------------------------------------------------------------------


@pytest.mark.parametrize("partner", [Alone(), BaseRevision()])
def test_only_kernels_change_a_plan(partner: Partner):
    assert partner.plan(PLAN, SEEN, None) == PLAN


@pytest.mark.parametrize("partner", [KERNELS, SAVING])
def test_all_kernels_play_with_every_test(partner: Partner):
    plan = partner.plan(PLAN, SEEN, SPEEDS)
    assert [name for name, _ in plan.kernels] == ["blas", "interpreter", "stride"]
    assert plan.pairs == PLAN.pairs


# -- blocks -------------------------------------------------------------------------------------


def compared(partner: Partner, nodeid: str = NODE) -> Comparison:
    comparison = partner.comparison(nodeid)
    assert comparison is not None
    return comparison


def test_a_block_with_a_revision_has_a_base():
    base = side([100, 200], calls=2)
    block = BaseRevision().block(side([200, 400], calls=2), Measurement(base))
    assert block.base == base
    with_base = compared(BaseRevision())
    (ratios,) = with_base.ratios([with_base.block_ratios(block)])
    assert ratios.typical == pytest.approx(math.log(2))


def kernels_block(own_ns: Sequence[int], **kernel_ns: tuple[float, ...]) -> Block:
    return KERNELS.block(side(own_ns), Measurement(side([1]), kernel_ns=kernel_ns))


def test_a_block_with_kernels_has_the_time_of_a_call_of_each():
    block = kernels_block([100, 100], blas=(5.0, 6.0), stride=(100.0, 200.0))
    assert block.base is None
    assert block.reference is not None
    assert block.reference.call_ns == {"blas": (5.0, 6.0), "stride": (100.0, 200.0)}


def test_a_ratio_is_how_far_a_block_lies_above_the_stored_level():
    block = kernels_block([100, 100], stride=(1, 1))
    # One call of the kernel takes 1 ns, so kernel and clock say the same.
    with_level = compared(KERNELS)
    (ratios,) = with_level.ratios([with_level.block_ratios(block)])
    assert ratios.typical == pytest.approx(math.log(100) - AT.typical)
    assert ratios.total == pytest.approx(math.log(100) - AT.total)


def test_the_gate_is_blurred_as_the_unit_is_that_the_run_is_judged_in():
    wild = [{"stride": LogRatios(x, x), "clock": AT} for x in (1.0, 1.5, 2.0)]
    assert compared(KERNELS).unit(wild) == {"clock": 1.0}
    assert gate_of(KERNELS, NODE, Spec(), 1, wild).blur == LEVEL.unit(wild).blur


# -- comparing ----------------------------------------------------------------------------------


def test_work_is_compared_with_the_base_or_with_what_is_stored():
    base = Measurement(side([1], work={"updates": 1}))
    assert BaseRevision().work(NODE, base) == {"updates": 1}
    assert KERNELS.work(NODE, None) == {"updates": 3.0}
    assert KERNELS.work(OTHER, None) is KERNELS.work(UNKNOWN, None) is None


def test_only_what_there_is_something_to_compare_with_is_judged():
    alone: Partner = Alone()
    assert alone.comparison(NODE) is None
    assert BaseRevision().comparison(NODE) is not None
    assert KERNELS.comparison(NODE) is not None
    assert KERNELS.comparison(OTHER) is KERNELS.comparison(UNKNOWN) is None


def test_a_label_tells_what_to_know_about_a_comparison():
    assert compared(KERNELS).label == LEVEL.label
    assert compared(BaseRevision()).label is None


@pytest.mark.parametrize(("partner", "blocks"), [(KERNELS, SOLO_BLOCKS), (SAVING, SAVE_BLOCKS)])
def test_what_is_not_judged_is_measured_enough_to_be_shown_or_saved(partner: Kernels, blocks: int):
    assert partner.enough(OTHER, blocks - 1, exhausted=False) is None
    assert partner.enough(OTHER, blocks, exhausted=False) == CHANGED
    alone = partner.enough(UNKNOWN, blocks, exhausted=False)
    assert alone is not None
    assert alone.outcome is Outcome.NO_BASELINE


@pytest.mark.parametrize(("saving", "blocks"), [(False, SOLO_BLOCKS), (True, SAVE_BLOCKS)])
def test_a_level_of_another_machine_is_shown_after_a_few_blocks(saving: bool, blocks: int):
    foreign = Ended(Outcome.INCOMPARABLE, "saved on another machine", shown=True)
    partner = Kernels({NODE: replace(LEVEL, foreign=foreign)}, saving)
    assert partner.enough(NODE, blocks - 1, exhausted=False) is None
    assert partner.enough(NODE, blocks, exhausted=False) == foreign
    assert partner.enough(NODE, 0, exhausted=True) == foreign
    assert KERNELS.enough(NODE, 0, exhausted=True) is None


@pytest.mark.parametrize("partner", [KERNELS, SAVING])
def test_when_time_is_up_the_reason_is_the_same(partner: Kernels):
    assert partner.enough(OTHER, 1, exhausted=True) == CHANGED


def test_alone_a_test_is_done_after_a_few_blocks():
    assert Alone().enough(NODE, SOLO_BLOCKS - 1, exhausted=False) is None
    assert Alone().enough(NODE, SOLO_BLOCKS, exhausted=False) == Ended.alone()
    assert Alone().enough(NODE, 1, exhausted=True) == Ended.alone()
    assert Alone().enough(NODE, 0, exhausted=True) is None
