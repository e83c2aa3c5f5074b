"""Seconds by what they went to."""

from pytest_rlperf.model.block import Spending


def test_costs_add_up_part_by_part():
    spent = Spending(scouting=1.0, slices=2.0, rest=0.5) + Spending(slices=3.0, rest=0.5)
    assert spent == Spending(scouting=1.0, slices=5.0, rest=1.0)


def test_what_no_part_holds_is_the_rest_whatever_that_was():
    assert Spending(slices=3.0, rest=9.0).within(5.0) == Spending(slices=3.0, rest=2.0)


def test_parts_that_hold_more_than_all_leave_no_rest():
    assert Spending(slices=3.0).within(2.9) == Spending(slices=3.0)


def test_a_share_of_what_was_spent_is_that_of_each_part():
    spent = Spending(fixtures=1.0, slices=4.0, rest=0.5)
    assert spent * 0.5 == Spending(fixtures=0.5, slices=2.0, rest=0.25)
