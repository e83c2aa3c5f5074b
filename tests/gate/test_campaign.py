"""The loop of a run: what is scouted, measured, decided, and kept of an interrupted one; against a
revision and against stored baselines; and how its tests share its time.
"""

from typing import Any

import pytest

from pytest_rlperf.baselines.levels import Level, kernel_ratios
from pytest_rlperf.gate.campaign import FAIR_SHARE
from pytest_rlperf.gate.partners import (
    SAVE_BLOCKS,
    SOLO_BLOCKS,
    Alone,
    BaseRevision,
    Kernels,
    Partner,
    blocks_until,
)
from pytest_rlperf.model.block import LEAST_BLOCKS, Spending
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.stats.decide import LOOKS
from pytest_rlperf.stats.verdicts import Ended
from pytest_rlperf.workers.planning import LONGEST, block_seconds
from pytest_rlperf.workers.side import State
from tests.factories import a_session
from tests.gate.campaigns import SEEN, Fake, Over, run, slower, unsure


def test_every_test_is_scouted_once_and_then_measured_until_it_is_decided():
    over = run({"same": Fake(), "slower": Fake(slower)})
    assert [task.plan for task in over.blocks.ran[0]] == [None, None]
    assert over.outcome("same") is Outcome.UNCHANGED
    assert over.outcome("slower") is Outcome.REGRESSED
    assert over.blocks.blocks_of("same") == LOOKS[0]
    assert over.blocks.blocks_of("slower") > LOOKS[0]


def test_decided_tests_drop_out_of_later_blocks():
    over = run({"same": Fake(), "slower": Fake(slower)})
    assert [task.nodeid for task in over.blocks.ran[-1]] == ["slower"]


def test_a_result_has_what_was_measured():
    result = run({"same": Fake()}).results["same"]
    assert (len(result.blocks), len(result.metrics[0].block_changes), result.steps) == (3, 3, 7)
    assert (result.blocks[0].core, result.blocks[0].steal) == (1, 0.25)
    assert result.repeat_command == "pytest same"


def test_a_result_has_what_its_scout_and_blocks_took():
    cost = run({"same": Fake(seconds=0.5)}).results["same"].cost
    assert cost == Spending(fixtures=0.5, slices=0.75, waiting=0.75)  # scout and three blocks


def test_progress_counts_what_is_decided():
    shown = run({"same": Fake(), "slower": Fake(slower)}).shown
    assert [shown[0].decided, shown[-1].decided] == [0, 2]
    assert shown[-1].tests == 2
    assert shown[0].blocks == 0


def test_a_test_that_fails_in_the_scout_has_no_block():
    over = run({"broken": Fake(scout=State.FAILED), "same": Fake()})
    assert over.outcome("broken") is Outcome.FAILED
    assert over.blocks.blocks_of("broken") == 0
    assert over.outcome("same") is Outcome.UNCHANGED


def test_a_skipped_test_is_no_failure():
    result = run({"skipped": Fake(scout=State.SKIPPED)}).results["skipped"]
    assert (result.headline.outcome, result.skipped) == (Outcome.SKIPPED, "why")


def test_alone_a_test_is_shown_after_a_few_blocks():
    over = run({"same": Fake()}, partner=Alone())
    assert over.outcome("same") is Outcome.NO_BASELINE
    assert over.blocks.blocks_of("same") == SOLO_BLOCKS


# -- interruption -------------------------------------------------------------------------------


def test_an_interrupted_campaign_keeps_what_was_measured():
    over = run({"unsure": Fake(unsure), "late": Fake(unsure)}, stop_at=4)
    assert over.interrupted
    assert len(over.results["unsure"].blocks) == 3
    assert over.outcome("unsure") is Outcome.INCONCLUSIVE
    assert over.reason("unsure").endswith("; run it again")


def test_an_interrupted_scout_leaves_every_test_open():
    over = run({"same": Fake()}, stop_at=0)
    assert over.interrupted
    assert over.results["same"].blocks == ()
    assert over.reason("same").startswith("the run was interrupted")


# -- stored baselines: compared with, and saved -------------------------------------------------


def level(**fields: Any) -> Level:
    sessions = (a_session({"interpreter": [0.0] * 6}),)
    return Level(**{"weights": {"interpreter": 1.0}, "sessions": sessions, "work": {}, **fields})


def test_a_save_measures_on_after_the_decision():
    over = run({"same": Fake()}, partner=Kernels({}, saving=True))
    assert over.blocks.blocks_of("same") == SAVE_BLOCKS
    assert over.outcome("same") is Outcome.NO_BASELINE


def test_a_decided_test_is_measured_as_often_as_a_save_needs():
    found = run({"same": Fake()}, partner=Kernels({}, saving=True)).results["same"]
    at = kernel_ratios(found.blocks[0])["interpreter"]
    sessions = (a_session(blocks=({"interpreter": at},) * 6),)
    known = Kernels({"same": level(sessions=sessions)}, saving=True)
    over = run({"same": Fake()}, partner=known)
    assert over.outcome("same") is Outcome.UNCHANGED
    assert over.blocks.blocks_of("same") == SAVE_BLOCKS > LOOKS[0]


def test_other_work_than_stored_is_incomparable_at_once():
    known = Kernels({"same": level(work={"updates": 3.0})})
    over = run({"same": Fake(work={"updates": 4.0})}, partner=known)
    assert over.outcome("same") is Outcome.INCOMPARABLE
    assert "updates is 3 on the base and 4 on head" in over.reason("same")
    assert over.blocks.blocks_of("same") == 1


def test_other_work_than_stored_can_be_saved_anew():
    known = Kernels({"same": level(work={"updates": 3.0})}, saving=True)
    over = run({"same": Fake(work={"updates": 4.0})}, partner=known)
    assert over.outcome("same") is Outcome.INCOMPARABLE
    assert len(over.results["same"].blocks) == SAVE_BLOCKS
    assert over.results["same"].metrics[0].block_changes == ()


def test_what_cannot_be_compared_says_why_even_when_time_runs_out():
    changed = Ended(Outcome.INCOMPARABLE, "the benchmark itself changed")
    over = run({"same": Fake(seconds=1.0)}, partner=Kernels({"same": changed}), budget_s=4)
    assert over.blocks.blocks_of("same") < SOLO_BLOCKS
    assert over.reason("same") == "the benchmark itself changed"


@pytest.mark.parametrize(("saving", "blocks"), [(False, SOLO_BLOCKS), (True, SAVE_BLOCKS)])
def test_a_change_from_another_machine_is_shown_and_not_judged(saving: bool, blocks: int):
    foreign = Ended(Outcome.INCOMPARABLE, "saved on another machine", shown=True)
    known = Kernels({"slow": level(foreign=foreign)}, saving)
    over = run({"slow": Fake(lambda rng: 50.0)}, partner=known)
    found = over.results["slow"]
    assert over.blocks.blocks_of("slow") == blocks
    assert (over.outcome("slow"), over.reason("slow")) == (foreign.outcome, foreign.reason)
    assert found.headline.interval is not None
    assert found.headline.interval.low > 1
    assert (found.headline.severity, found.headline.threshold, found.explanation) == (None,) * 3
    assert found.time is not None
    assert len(found.time.block_changes) == blocks


def test_another_machine_is_named_even_where_no_time_is_left():
    foreign = Ended(Outcome.INCOMPARABLE, "saved on another machine", shown=True)
    known = Kernels({"slow": level(foreign=foreign)})
    over = run({"slow": Fake(seconds=1.0)}, partner=known, budget_s=1)
    assert over.reason("slow") == "saved on another machine"


def test_the_label_of_a_comparison_stands_beside_its_verdict():
    known = Kernels({"same": level(label="saved with another build of Python (3.11.2)")})
    result = run({"same": Fake()}, partner=known).results["same"]
    assert result.headline.label == "saved with another build of Python (3.11.2)"


# -- who gets a block ---------------------------------------------------------------------------


def test_a_slow_test_does_not_starve_the_others():
    quick = {f"quick{k}": Fake(unsure) for k in range(4)}
    over = run({**quick, "slow": Fake(unsure, seconds=5.0)}, budget_s=60)
    assert over.blocks.blocks_of("slow") >= LEAST_BLOCKS
    # Until more of them would hardly tell, not until the budget is over.
    assert all(over.outcome(name) is Outcome.INCONCLUSIVE for name in quick)
    assert all("it lies too close" in over.reason(name) for name in quick)


def test_no_test_begins_a_block_after_it_had_more_than_its_share():
    tests = {"quick": Fake(unsure), "slow": Fake(unsure, seconds=1.0)}
    over = run(tests, budget_s=30)
    spent = dict.fromkeys(tests, 0.0)
    for block in over.blocks.ran[1:]:
        if len(block) == len(tests):
            assert spent["slow"] <= FAIR_SHARE * sum(spent.values()) / len(tests)
        for task in block:
            spent[task.nodeid] += tests[task.nodeid].seconds


def test_what_does_not_fit_into_the_time_left_is_not_begun():
    over = run({"slow": Fake(unsure, seconds=7.0)}, budget_s=30)
    assert over.blocks.blocks_of("slow") == 3  # and 7 s for the scout, so that 2 s are left
    assert over.outcome("slow") is Outcome.INCONCLUSIVE


def test_a_run_ends_with_its_budget_and_gives_what_is_open_its_best_word():
    over = run({"unsure": Fake(unsure, seconds=1.0), "slower": Fake(slower)}, budget_s=8)
    assert over.blocks.now - 100 <= 8 + 1.1
    assert over.outcome("unsure") is Outcome.INCONCLUSIVE
    assert "raise --rlperf-budget" in over.reason("unsure")
    assert over.outcome("slower") is Outcome.REGRESSED


@pytest.mark.parametrize("partner", [BaseRevision(), Alone()])
def test_a_budget_too_small_for_all_decides_some_and_names_the_others(partner: Partner):
    tests = {f"t{k:02}": Fake(seconds=1.0) for k in range(40)}
    over = run(tests, budget_s=30, partner=partner)
    blocks = [over.blocks.blocks_of(name) for name in tests]
    wanted = blocks_until(partner, "t00", Spec(), look=0)
    decided = sum(number == wanted for number in blocks)
    assert decided >= 4  # a scout and at most five blocks of each in 30 s
    assert all(number == 0 or number >= LEAST_BLOCKS for number in blocks)
    assert over.outcome("t39") is Outcome.NOT_MEASURED
    assert over.reason("t39").startswith("the budget of 30 s did not reach it; all tests need")


# -- the length of a block ----------------------------------------------------------------------


def pairs(over: Over) -> int:
    plan = over.blocks.ran[1][0].plan
    assert plan is not None
    return plan.pairs


def test_a_block_that_takes_less_time_than_the_start_of_its_workers_gets_more_pairs():
    plain, waiting = run({"same": Fake()}), run({"same": Fake()}, startup_s=60.0)
    assert pairs(waiting) == LONGEST * pairs(plain)


def test_many_tests_fill_the_time_by_themselves():
    plain = run({"same": Fake()})
    plan = plain.results["same"].plan
    assert plan is not None
    one_s = block_seconds(plan, SEEN)
    many = run({f"t{k}": Fake() for k in range(20)}, startup_s=10 * one_s)
    assert pairs(many) == pairs(plain)


def test_a_first_block_with_crowded_caches_is_left_out_and_the_others_have_room():
    over = run({"crowded": Fake(crowded=1.4), "same": Fake()})
    result, plans = over.results["crowded"], [o.plan for b in over.blocks.ran[1:] for o in b[:1]]
    assert result.headline.outcome is Outcome.UNCHANGED
    assert [plan.calls for plan in plans if plan] == [2, 10, 10, 10]
    assert (len(result.blocks), {block.head.calls for block in result.blocks}) == (3, {10})


# -- blocks that are played at once --------------------------------------------------------------


def names_in(over: Over) -> list[list[str]]:
    """Return the tests of each block, without the scouts."""
    return [[order.nodeid for order in block] for block in over.blocks.ran[1:]]


def test_a_test_plays_on_all_cores_until_its_next_look_and_no_further():
    assert names_in(run({"same": Fake()}, lanes=2)) == [["same"], ["same"], [], ["same"]]


def test_where_workers_start_longer_than_tests_take_it_plays_on_all_cores_at_any_rate():
    assert names_in(run({"same": Fake()}, startup_s=60.0, lanes=2)) == [["same"]] * 4


def test_tests_that_need_one_block_each_share_the_cores():
    blocks = names_in(run({"a": Fake(), "b": Fake(), "c": Fake(), "d": Fake()}, lanes=2))
    assert blocks[:2] == [["a", "b", "c", "d"]] * 2
    assert sorted(blocks[2] + blocks[3]) == ["a", "b", "c", "d"]
    assert (len(blocks[2]), len(blocks[3])) == (2, 2)


def test_a_test_on_several_cores_has_no_block_beside_it():
    both = {"wide": Fake(spec=Spec(threads=2)), "narrow": Fake()}
    assert names_in(run(both, lanes=2))[:2] == [["wide", "narrow"], ["narrow"]]


def test_no_block_is_left_of_a_plan_that_changed_while_others_were_played():
    over = run({"crowded": Fake(crowded=1.4)}, lanes=2)
    result = over.results["crowded"]
    assert (len(result.blocks), {block.head.calls for block in result.blocks}) == (3, {10})
    assert over.blocks.blocks_of("crowded") == 5


@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_the_same_is_decided_on_however_many_cores(lanes: int):
    over = run({"same": Fake(), "slower": Fake(slower), "unsure": Fake(unsure)}, lanes=lanes)
    assert over.outcome("same") is Outcome.UNCHANGED
    assert over.outcome("slower") is Outcome.REGRESSED
    assert over.outcome("unsure") is Outcome.INCONCLUSIVE
    assert len(over.results["unsure"].blocks) in LOOKS


def test_a_test_that_says_how_many_calls_it_wants_gets_no_more():
    fixed = Fake(spec=Spec(iterations=10))
    assert pairs(run({"fixed": fixed}, startup_s=60.0)) == pairs(run({"fixed": fixed}))
