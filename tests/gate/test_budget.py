"""How long a run waits for workers, scouts and blocks before it gives them up."""

import pytest

from pytest_rlperf.gate.budget import (
    BLOCK_DEADLINE_S,
    LATE,
    SCOUT_DEADLINE_S,
    SLOWEST,
    STARTUP_S,
    Budget,
)
from pytest_rlperf.workers.planning import block_seconds
from tests.gate.campaigns import SEEN, Fake, run, unsure


@pytest.mark.parametrize(
    ("budget_s", "deadline_s"), [(1, SCOUT_DEADLINE_S[0]), (60, 60), (900, SCOUT_DEADLINE_S[1])]
)
def test_a_scout_has_as_long_as_the_budget_but_neither_moments_nor_for_ever(
    budget_s: float, deadline_s: float
):
    (task, *_) = run({"same": Fake()}, budget_s=budget_s).blocks.ran[0]
    assert task.deadline_s == deadline_s


def test_a_block_has_many_times_what_it_should_take():
    over = run({"same": Fake(seconds=0.5)})
    task = over.blocks.ran[1][0]
    assert task.plan is not None
    expected_s = 0.5 + block_seconds(task.plan, SEEN)  # fixtures are made anew in every block
    assert task.deadline_s == pytest.approx(BLOCK_DEADLINE_S + SLOWEST * expected_s)


def test_near_the_end_a_block_has_a_few_times_what_it_should_take():
    over = run({"slow": Fake(unsure, seconds=5.0)}, budget_s=21)
    task = over.blocks.ran[2][0]
    assert task.plan is not None
    expected_s = 5.0 + block_seconds(task.plan, SEEN)
    assert task.deadline_s == pytest.approx(BLOCK_DEADLINE_S + LATE * expected_s)


def test_workers_have_a_while_to_come_up_but_not_longer_than_the_run():
    assert run({"same": Fake()}, budget_s=1000).blocks.startups[0] == STARTUP_S
    assert run({"same": Fake()}, budget_s=5).blocks.startups[0] == BLOCK_DEADLINE_S + 5


def test_a_part_of_a_budget_begins_now_and_ends_with_the_whole():
    now = [100.0]
    whole = Budget(60.0, 100.0, lambda: now[0])
    now[0] = 130.0
    assert whole.part(20.0).left_s() == 20.0
    assert whole.part(300.0).left_s() == 30.0
