"""Who fits into the time left: forecasts of blocks, and campaigns whose budget is too small."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_rlperf.gate.budget import BlockForecast, Need, fitting, is_full
from pytest_rlperf.gate.partners import Kernels
from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.stats.decide import LOOKS
from pytest_rlperf.wire import WorkerKind
from pytest_rlperf.workers.side import State
from tests.factories import examples
from tests.gate.campaigns import Fake, Over, run, same, slower, unsure

PLAIN, RANKS = WorkerKind(0, 1), WorkerKind(2, 1)
STARTUP_S = 2.0


def block_s(kind: WorkerKind, tests_s: float) -> float:
    """Plain workers start while the block before is played, ranks after it."""
    return STARTUP_S + tests_s if kind.nprocs else max(STARTUP_S, tests_s)


def seconds(*needs: Need) -> float:
    return BlockForecast(block_s).plus(needs).seconds


def test_short_tests_share_the_start_of_their_workers():
    one = Need(PLAIN, 5, 0.5)
    assert seconds(one) == seconds(one, one) == seconds(*[one] * 4) == 5 * STARTUP_S
    assert seconds(*[one] * 8) == 5 * 8 * 0.5


def test_a_test_of_many_blocks_pays_for_their_starts_alone():
    assert seconds(Need(PLAIN, 5, 4.0), Need(PLAIN, 8, 0.5)) == 5 * 4.5 + 3 * STARTUP_S


def test_workers_of_another_kind_come_on_top():
    assert seconds(Need(PLAIN, 5, 4.0), Need(RANKS, 5, 4.0)) == 5 * 4.0 + 5 * (STARTUP_S + 4.0)


def chosen(costs: dict[str, float], left_s: float, urgent: str = "") -> set[str]:
    def needs(name: str) -> list[Need]:
        return [Need(PLAIN, 5, costs[name])]

    forecast = BlockForecast(lambda kind, tests_s: tests_s)
    return set(fitting(list(costs), needs, forecast, left_s, urgent=lambda name: name == urgent))


def test_as_many_as_possible_fit_and_the_urgent_ones_before_them():
    costs = {"slow": 4.0, "quick": 1.0, "quicker": 0.5}
    assert chosen(costs, 27.5) == set(costs)
    assert chosen(costs, 27.4) == {"quick", "quicker"}
    assert chosen(costs, 22.5, urgent="slow") == {"slow", "quicker"}


def test_a_slow_test_alone_does_not_fill_the_time():
    forecast = BlockForecast(lambda kind, tests_s: tests_s)
    slow, quick = [Need(PLAIN, 5, 100.0)], [Need(PLAIN, 5, 10.0)]
    assert not is_full(forecast, [slow], 300.0, 300.0)
    assert is_full(forecast, [slow] * 5, 300.0, 300.0)
    assert is_full(forecast, [quick] * 7, 300.0, 300.0)
    assert not is_full(forecast, [quick], 45.0, 300.0)  # it does not fit itself


def test_beside_the_start_of_their_workers_further_tests_cost_nothing():
    quick = [Need(PLAIN, 5, 0.5)]
    assert not is_full(BlockForecast(block_s), [quick] * 4, 10.0, 300.0)
    assert is_full(BlockForecast(block_s), [quick] * 5, 10.0, 300.0)
    assert is_full(BlockForecast(block_s), [quick], 9.0, 300.0)
    assert is_full(BlockForecast(block_s), [], 0.0, 300.0)


# -- campaigns ----------------------------------------------------------------------------------


def blocks_by_test(over: Over) -> dict[str, int]:
    return {name: over.blocks.blocks_of(name) for name in over.results}


@examples
@given(
    costs=st.lists(st.floats(0.2, 20.0), min_size=1, max_size=25),
    budget_s=st.floats(1.0, 400.0),
    startup_s=st.floats(0.0, 5.0),
    ratios=st.randoms(use_true_random=False),
)
def test_hardly_a_block_is_played_that_cannot_lead_to_a_word(
    costs: list[float], budget_s: float, startup_s: float, ratios: random.Random
):
    tests = {
        f"t{k}": Fake(
            ratios.choice((same, same, same, slower, unsure)),
            seconds=cost,
            spec=Spec(iterations=64),  # so that no block is made longer, which takes longer
        )
        for k, cost in enumerate(costs)
    }
    over = run(tests, budget_s=budget_s, startup_s=startup_s)
    blocks = blocks_by_test(over)
    # What a block takes is learnt from the first ones: one test may turn out not to fit after all.
    assert sum(0 < number < LEAST_BLOCKS for number in blocks.values()) <= 1
    for name, number in blocks.items():
        assert (number == 0) == (over.outcome(name) is Outcome.NOT_MEASURED)
    assert over.blocks.now - 100 <= budget_s + startup_s + max(costs)


@examples
@example(tests=6, cost=5.0, budget_s=60.0)
@given(tests=st.integers(1, 60), cost=st.floats(0.5, 5.0), budget_s=st.floats(60.0, 400.0))
def test_about_as_many_are_decided_as_fit(tests: int, cost: float, budget_s: float):
    over = run({f"t{k}": Fake(seconds=cost) for k in range(tests)}, budget_s=budget_s)
    decided = sum(number > 0 for number in blocks_by_test(over).values())
    most = min(tests, int(budget_s / ((1 + LOOKS[0]) * cost)))
    # One may be lost to the scouts of tests for which there is no time then.
    assert decided >= 0.75 * (most - 1) - 1


def test_a_suite_that_fits_is_scouted_and_measured_in_one_go():
    over = run({f"t{k}": Fake() for k in range(20)}, budget_s=100)
    assert [len(block) for block in over.blocks.ran] == [20] * (1 + LOOKS[0])


def test_few_that_stay_undecided_do_not_keep_the_others_waiting():
    tests = {f"t{k:02}": Fake(unsure if k == 0 else same, seconds=1.0) for k in range(40)}
    over = run(tests, budget_s=120)
    scouts = [k for k, block in enumerate(over.blocks.ran) if block[0].plan is None]
    later = [order.nodeid for block in over.blocks.ran[scouts[1] :] for order in block]
    assert "t00" in later
    assert sum(over.outcome(name) is Outcome.UNCHANGED for name in tests) >= 14


def test_tests_that_come_first_are_begun_first():
    tests = {f"t{k:02}": Fake(seconds=1.0) for k in range(40)}
    over = run(tests, budget_s=60, first=lambda: {"t37", "t38"})
    assert over.blocks.scouted[:2] == ["t37", "t38"]
    assert over.outcome("t38") is Outcome.UNCHANGED


def test_where_there_is_time_for_all_nobody_is_asked_who_comes_first():
    def asked() -> frozenset[str]:
        raise AssertionError

    over = run({"same": Fake()}, budget_s=60, first=asked)
    assert over.outcome("same") is Outcome.UNCHANGED


def test_all_sizes_of_a_test_are_begun_together():
    sizes = {
        f"t{k:02}[{size}]": Fake(seconds=1.0, size=float(size), family=f"t{k:02}")
        for k in range(10)
        for size in (1, 2, 4)
    }
    over = run(sizes, budget_s=60)
    numbers = blocks_by_test(over)
    for k in range(10):
        assert len({numbers[f"t{k:02}[{size}]"] > 0 for size in (1, 2, 4)}) == 1
    assert {"t00[1]", "t00[2]", "t00[4]"} == {n for n in numbers if numbers[n] and "t00" in n}
    unreached = over.results["t09[4]"]
    assert {metric.outcome for metric in unreached.metrics} == {Outcome.NOT_MEASURED}
    assert len({metric.verdict.reason for metric in unreached.metrics}) == 1


def test_a_size_that_fails_does_not_keep_the_others_from_being_measured():
    tests = {
        "t[1]": Fake(size=1.0, family="t"),
        "t[2]": Fake(size=2.0, family="t", scout=State.FAILED),
    }
    over = run(tests)
    assert over.outcome("t[1]") is Outcome.UNCHANGED


def test_a_save_that_is_short_of_time_measures_some_tests_as_often_as_it_can():
    over = run(
        {f"t{k}": Fake(seconds=1.0) for k in range(20)},
        partner=Kernels({}, saving=True),
        budget_s=60,
    )
    numbers = [number for number in blocks_by_test(over).values() if number]
    assert numbers
    assert min(numbers) >= LEAST_BLOCKS


def test_the_budget_that_is_advised_does():
    tests = {f"t{k:02}": Fake(seconds=1.0) for k in range(40)}
    short = run(tests, budget_s=60)
    assert short.needed_s is not None
    assert f"--rlperf-budget={short.needed_s:.0f}" in short.reason("t39")
    enough = run(tests, budget_s=short.needed_s)
    assert enough.needed_s is None
    assert {result.outcome for result in enough.results.values()} == {Outcome.UNCHANGED}


def test_progress_says_what_the_suite_needs():
    over = run({f"t{k:02}": Fake(seconds=1.0) for k in range(10)}, budget_s=200)
    assert over.shown[0].needed_s is None
    needed = [shown.needed_s for shown in over.shown if shown.needed_s is not None]
    assert needed[-1] == pytest.approx(40)  # a scout and three blocks of each
