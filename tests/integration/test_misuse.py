"""A test that uses the fixture wrongly fails with one sentence that says what to do."""

import pytest

from .projects import Ended

SENTENCES = {
    "test_forgot_the_fixture": "this test returned without calling rlperf, benchmark or another "
    "fixture that measures, so there is nothing to judge; call it in the test, or take the fixture "
    "and the marker away.",
    "test_marked_without_fixture": "this test returned without calling rlperf, benchmark or "
    "another fixture",
    "test_called_twice": "rlperf measures one call a test, and this is the second; split the test "
    "in two, or parametrize it.",
    "test_not_a_function": "rlperf needs a function to call, not int; write rlperf(func, "
    "argument), not rlperf(func(argument)).",
    "test_third_call_on_head": "rlperf calls this function many times over; if it raises at a "
    "later call only, give every call fresh state: rlperf.measure(func, setup=...).",
    "test_caught": "the measured function raised and the test caught it, so there is nothing to "
    "judge; measure a call that returns.",
}


@pytest.mark.parametrize("name", SENTENCES)
def test_the_sentence_is_shown(outcomes: Ended, name: str):
    assert SENTENCES[name] in outcomes.section(name)


@pytest.mark.parametrize("name", ["test_called_twice", "test_not_a_function"])
def test_the_traceback_ends_in_the_test(outcomes: Ended, name: str):
    shown = outcomes.section(name)
    assert "fixtures.py" not in shown
    assert ">       rlperf(" in shown


def test_a_function_that_raises_later_shows_its_own_line(outcomes: Ended):
    shown = outcomes.section("test_third_call_on_head")
    assert '>           raise OverflowError("the buffer is full")' in shown
