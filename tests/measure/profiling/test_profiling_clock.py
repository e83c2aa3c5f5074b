"""A watched slice: what the profilers see of a function in which only a fake clock moves."""

import sys
from typing import Any

import pytest

from pytest_rlperf.measure.loop import Calls
from pytest_rlperf.measure.profiling.clock import ProfilingClock
from pytest_rlperf.measure.profiling.entries import native_name
from pytest_rlperf.model.plan import Mode, Plan
from pytest_rlperf.model.profile import Profiling
from tests.factories import FakeClock

HERE = __file__


class ReadableClock(FakeClock):
    def read_ns(self) -> int:
        return self.wall_ns


CLOCK = ReadableClock()


def act() -> int:
    CLOCK.compute(30)
    return 1


def learn() -> int:
    act()
    CLOCK.compute(50)
    act()
    return len([act() for _ in range(3)])


def watched(func: Any, pairs: int = 3, **how: Any) -> dict[str, Any]:
    how = {"profile": Profiling.FUNCTIONS, **how}
    plan = Plan(Mode.SLICED, calls=2, pairs=pairs, warmup=0, **how)
    clock, calls = ProfilingClock(CLOCK, plan, CLOCK.read_ns), Calls(func)
    for _ in range(pairs):
        calls.timed(plan.calls, clock)
    return clock.facts()


def function(facts: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in facts["functions"] if each["function"] == (HERE, name))


def test_calls_are_counted_exactly_and_time_is_the_functions_own():
    facts = watched(learn)
    assert facts["calls"] == 4  # the third slice was sampled
    assert function(facts, "learn")["calls"] == 4
    assert function(facts, "act")["calls"] == 4 * 5
    # The fake clock's own methods are functions too, and the time passes in them.
    computing = "FakeClock.compute"
    times = {e["function"][1]: e["typical_ns"] for e in facts["functions"]}
    assert times[computing] == pytest.approx(5 * 30 + 50)


def test_a_comprehension_is_part_of_its_function():
    names = [each["function"][1] for each in watched(learn)["functions"]]
    assert not any("listcomp" in name for name in names)


def test_native_functions_are_counted_by_caller():
    assert function(watched(learn), "learn")["natives"]["len"][0] == 4


def test_what_a_function_calls_is_known_with_the_time_it_took():
    callees = {
        key[1]: (calls, ns) for key, calls, ns in function(watched(learn), "learn")["callees"]
    }
    assert callees["act"] == (20, pytest.approx(20 * 30))


def longest(words: list[str]) -> str:
    def size(word: str) -> int:
        act()
        return len(word)

    return max(words, key=size)


def test_a_way_through_a_native_function_is_known():
    facts = watched(lambda: longest(["a", "bb"]))
    through = next(e for e in facts["functions"] if e["function"] == ("", "max"))
    size = (HERE, "longest.<locals>.size")
    assert [size, 8, pytest.approx(8 * 30)] in through["callees"]
    assert list(function(facts, "longest")["callees"][0][0]) == ["", "max"]


def test_this_packages_own_functions_are_left_out():
    files = {each["function"][0] for each in watched(learn)["functions"]}
    assert not any("pytest_rlperf" in file and "tests" not in file for file in files)
    assert "<rlperf loop>" not in files


def test_a_single_slice_has_its_functions_counted():
    assert function(watched(learn, pairs=1), "learn")["calls"] == 2


def test_lines_of_one_function_are_timed_with_what_they_call():
    lines = watched(learn, profile=Profiling.LINES, lines_of="learn")["line_profile"]
    first = lines["first"]
    assert lines["source"][0] == "def learn() -> int:"
    assert lines["lines"][first + 1] == [1.0, 30.0]
    assert lines["lines"][first + 2] == [1.0, 50.0]


@pytest.mark.parametrize("name", ["nowhere", "elsewhere.py:learn"])
def test_a_function_that_does_not_run_has_no_lines(name: str):
    assert watched(learn, profile=Profiling.LINES, lines_of=name)["line_profile"] is None


def test_nothing_is_left_switched_on():
    watched(learn)
    watched(learn, profile=Profiling.LINES, lines_of="learn")
    assert sys.gettrace() is None
    assert sys.getprofile() is None


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("<method 'copy' of 'numpy.ndarray' objects>", "numpy.ndarray.copy"),
        ("<built-in method builtins.max>", "max"),
        ("<built-in method numpy.array>", "numpy.array"),
        ("<built-in method __new__ of type object at 0x7f0dfba5ea00>", "type.__new__"),
        ("<built-in method random of Random object at 0x55>", "random of Random object"),
    ],
)
def test_a_native_function_has_a_name_that_is_the_same_in_every_process(
    description: str, name: str
):
    assert native_name(description) == name
