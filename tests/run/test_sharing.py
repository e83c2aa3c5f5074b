"""How the tests of a run share its time: who gets a block, and of how many pairs."""

from pytest_rlperf.measure.planning import LONGEST, block_seconds
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.run.campaign import FAIR_SHARE, SCOUT_SHARE
from pytest_rlperf.run.partners import Alone

from .campaigns import SEEN, Fake, Over, run, slower, unsure


def test_a_slow_test_does_not_starve_the_others():
    quick = {f"quick{k}": Fake(unsure) for k in range(4)}
    over = run({**quick, "slow": Fake(unsure, seconds=5.0)}, budget_s=40)
    slow = over.blocks.blocks_of("slow")
    assert slow >= 1
    assert all(over.blocks.blocks_of(name) >= 10 * slow for name in quick)


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


def test_scouts_of_a_suite_too_large_leave_time_to_measure():
    tests = {f"t{k:02}": Fake(seconds=1.0) for k in range(40)}
    over = run(tests, budget_s=20)
    scouted = len(over.blocks.ran[0])
    assert scouted == SCOUT_SHARE * 20
    assert over.blocks.blocks_of("t00") >= 1
    assert over.outcome("t39") is Outcome.INCONCLUSIVE
    assert "the budget ran out after 0 of at least 3 blocks" in over.reason("t39")


def test_alone_what_had_no_time_says_so():
    tests = {f"t{k:02}": Fake(seconds=1.0) for k in range(40)}
    over = run(tests, budget_s=20, partner=Alone())
    assert over.reason("t39") == "the budget ran out before it was measured"


# -- the length of a block ----------------------------------------------------------------------


def pairs(over: Over) -> int:
    plan = over.blocks.ran[1][0].plan
    assert plan is not None
    return plan.pairs


def test_a_block_that_is_over_before_the_next_workers_are_up_gets_more_pairs():
    plain, waiting = run({"same": Fake()}), run({"same": Fake()}, startup_s=3600.0)
    assert pairs(waiting) == LONGEST * pairs(plain)


def test_many_tests_fill_the_time_by_themselves():
    plain = run({"same": Fake()})
    plan = plain.results["same"].plan
    assert plan is not None
    one_s = block_seconds(plan, SEEN)
    many = run({f"t{k}": Fake() for k in range(20)}, startup_s=10 * one_s)
    assert pairs(many) == pairs(plain)


def test_a_test_that_says_how_many_calls_it_wants_gets_no_more():
    fixed = Fake(spec=Spec(iterations=10))
    assert pairs(run({"fixed": fixed}, startup_s=3600.0)) == pairs(run({"fixed": fixed}))
