"""Whom a test plays with, and what that means for its plan, its blocks and its verdict."""

import math
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
    Kernels,
    Partner,
    side_block,
)
from pytest_rlperf.model.block import LogRatios
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.plan import Mode, Plan, Scouted
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.stats.verdicts import Ended
from tests.factories import a_session, side

NODE, OTHER, UNKNOWN = "a.py::known", "a.py::changed", "a.py::new"
MS = 10**6
PLAN = Plan(Mode.SLICED, calls=2, pairs=32, warmup=1)
SEEN = Scouted(call_ns=MS, first_ns=MS, cpu_share=1.0, processes=1)
SCOUTED = {"unit_ns": {"blas": 50_000.0, "interpreter": 50_000.0, "stride": 100_000.0}}
AT = LogRatios(1.0, 2.0)
LEVEL = Level(
    weights={"stride": 0.5, "clock": 0.5},
    sessions=(a_session(blocks=({"stride": AT, "clock": AT},) * 6),),
    work={"updates": 3.0},
    label="saved on another CPU (Some CPU)",
)
CHANGED = Ended(Outcome.INCOMPARABLE, "the benchmark itself changed")
KERNELS = Kernels({NODE: LEVEL, OTHER: CHANGED})
SAVING = Kernels({NODE: LEVEL, OTHER: CHANGED}, saving=True)


def head_facts(**fields: Any) -> dict[str, Any]:
    times = {"own_ns": [200, 400], "wall_ns": [300, 500], "cpu_ns": [100, 100]}
    return {**times, "work": {}, "preempted": 3, **fields}


def test_what_a_worker_measured_becomes_a_side():
    found = side_block(head_facts(work={"updates": 1.0}), PLAN)
    assert (found.own_ns, found.wall_ns, found.cpu_ns) == ((200, 400), (300, 500), (100, 100))
    assert (found.calls, found.work, found.preempted) == (2, {"updates": 1.0}, 3)


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
    assert partner().gate(NODE, Spec(), 3).threshold == default
    assert partner(0.2).gate(NODE, Spec(), 3).threshold == 0.2
    assert partner(0.2).gate(NODE, Spec(threshold=0.3), 3).threshold == 0.3
    assert partner().gate(NODE, Spec(), 3).tests == 3


def test_the_gate_of_a_stored_test_is_blurred_and_no_narrower_than_its_floor():
    assert KERNELS.gate(NODE, Spec(), 1).blur == LEVEL.unit().blur > 0
    assert KERNELS.gate(OTHER, Spec(), 1).blur == 0
    elsewhere = Kernels({NODE: replace(LEVEL, floor=0.25)})
    assert elsewhere.gate(NODE, Spec(threshold=0.05), 1).threshold == 0.25
    assert elsewhere.gate(NODE, Spec(threshold=0.5), 1).threshold == 0.5


# -- plans --------------------------------------------------------------------------------------


@pytest.mark.parametrize("partner", [Alone(), BaseRevision()])
def test_only_kernels_change_a_plan(partner: Partner):
    assert partner.plan(NODE, Spec(), PLAN, SEEN, {}) == PLAN


@pytest.mark.parametrize("nodeid", [NODE, OTHER, UNKNOWN])
@pytest.mark.parametrize("partner", [KERNELS, SAVING])
def test_all_kernels_play_with_every_test(partner: Partner, nodeid: str):
    plan = partner.plan(nodeid, Spec(), PLAN, SEEN, SCOUTED)
    assert [name for name, _ in plan.kernels] == ["blas", "interpreter", "stride"]
    assert plan.pairs == PLAN.pairs


# -- blocks -------------------------------------------------------------------------------------


def test_a_block_with_a_revision_has_a_base():
    base = head_facts(own_ns=[100, 200])
    found = BaseRevision().block(side([200, 400], calls=2), base, PLAN)
    assert found.base == side_block(base, PLAN)
    (ratios,) = BaseRevision().ratios(NODE, [BaseRevision().told(found)])
    assert ratios.typical == pytest.approx(math.log(2))


def test_a_block_with_kernels_has_the_time_of_a_call_of_each():
    facts = {"kernel_ns": {"blas": [5.0, 6.0], "stride": [100.0, 200.0]}}
    found = KERNELS.block(side([100, 100]), facts, PLAN)
    assert found.base is None
    assert found.reference is not None
    assert found.reference.call_ns == {"blas": (5.0, 6.0), "stride": (100.0, 200.0)}


def test_a_ratio_is_how_far_a_block_lies_above_the_stored_level():
    block = KERNELS.block(side([100, 100]), {"kernel_ns": {"stride": [1, 1]}}, PLAN)
    # One call of the kernel takes 1 ns, so kernel and clock say the same.
    (found,) = KERNELS.ratios(NODE, [KERNELS.told(block)])
    assert found.typical == pytest.approx(math.log(100) - AT.typical)
    assert found.total == pytest.approx(math.log(100) - AT.total)


def test_the_gate_is_blurred_as_the_unit_is_that_the_run_is_judged_in():
    wild = [{"stride": LogRatios(x, x), "clock": AT} for x in (1.0, 1.5, 2.0)]
    assert KERNELS.unit(NODE, wild) == {"clock": 1.0}
    assert KERNELS.gate(NODE, Spec(), 1, wild).blur == LEVEL.unit(wild).blur
    assert KERNELS.unit(UNKNOWN, wild) == {}


# -- comparing ----------------------------------------------------------------------------------


def test_work_is_compared_with_the_base_or_with_what_is_stored():
    assert BaseRevision().work(NODE, {"work": {"updates": 1}}) == {"updates": 1}
    assert KERNELS.work(NODE, None) == {"updates": 3.0}
    assert KERNELS.work(OTHER, None) is KERNELS.work(UNKNOWN, None) is None


def test_only_what_there_is_something_to_compare_with_is_judged():
    assert not Alone().judges(NODE)
    assert BaseRevision().judges(NODE)
    assert [KERNELS.judges(nodeid) for nodeid in (NODE, OTHER, UNKNOWN)] == [True, False, False]


def test_a_label_tells_what_to_know_about_a_comparison():
    assert KERNELS.label(NODE) == LEVEL.label
    assert KERNELS.label(OTHER) is None


@pytest.mark.parametrize(("partner", "blocks"), [(KERNELS, SOLO_BLOCKS), (SAVING, SAVE_BLOCKS)])
def test_what_is_not_judged_is_measured_enough_to_be_shown_or_saved(partner: Kernels, blocks: int):
    assert partner.enough(OTHER, blocks - 1, exhausted=False) is None
    assert partner.enough(OTHER, blocks, exhausted=False) == CHANGED
    alone = partner.enough(UNKNOWN, blocks, exhausted=False)
    assert alone is not None
    assert alone.outcome is Outcome.NO_BASELINE


@pytest.mark.parametrize("partner", [KERNELS, SAVING])
def test_when_time_is_up_the_reason_is_the_same(partner: Kernels):
    assert partner.enough(OTHER, 1, exhausted=True) == CHANGED


def test_alone_a_test_is_done_after_a_few_blocks():
    assert Alone().enough(NODE, SOLO_BLOCKS - 1, exhausted=False) is None
    assert Alone().enough(NODE, SOLO_BLOCKS, exhausted=False) == Ended.alone(SOLO_BLOCKS)
    assert Alone().enough(NODE, 0, exhausted=True) == Ended.alone(0)
