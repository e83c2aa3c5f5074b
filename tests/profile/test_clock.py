"""The profilers' clock asks the kernel only where there may have been a wait; and what the
profilers see of a slice.
"""

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_rlperf.model.plan import Mode, Plan
from pytest_rlperf.model.profile import FunctionRecord, LineCost, Profiling, SlicesProfile
from pytest_rlperf.profile import clock as clock_module
from pytest_rlperf.profile.clock import GAP_NS, ProfilingClock, own_time_reader
from pytest_rlperf.profile.functions import native_name
from pytest_rlperf.worker.calls import Calls
from tests.factories import FakeClock


class Kernel:
    """Wall time and waits of a thread, both set by the test."""

    def __init__(self) -> None:
        self.wall_ns = self.waited_ns = 10**9
        self.asked = 0

    def run_delay_ns(self) -> int:
        self.asked += 1
        return self.waited_ns


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel = Kernel()
    clock = SimpleNamespace(perf_counter_ns=lambda: kernel.wall_ns)
    monkeypatch.setattr(f"{clock_module.__name__}.time", clock)
    monkeypatch.setattr(clock_module, "_run_delay_reader", lambda: kernel.run_delay_ns)
    return kernel


def passed_ns(read_ns: Callable[[], int], kernel: Kernel, wall_ns: int, waited_ns: int = 0) -> int:
    before = read_ns()
    kernel.wall_ns += wall_ns
    kernel.waited_ns += waited_ns
    return read_ns() - before


def test_short_times_are_wall_time_and_cost_no_question(kernel: Kernel):
    read_ns = own_time_reader()
    asked = kernel.asked
    assert passed_ns(read_ns, kernel, 700) == 700
    assert kernel.asked == asked


def test_a_wait_for_the_core_is_left_out(kernel: Kernel):
    assert passed_ns(own_time_reader(), kernel, 4_000_000, waited_ns=3_000_000) == 1_000_000


def test_a_long_function_keeps_all_its_time(kernel: Kernel):
    assert passed_ns(own_time_reader(), kernel, 100 * GAP_NS) == 100 * GAP_NS


def test_sleeping_is_time(kernel: Kernel):
    assert passed_ns(own_time_reader(), kernel, 10**9, waited_ns=0) == 10**9


def test_where_the_kernel_does_not_tell_it_is_wall_time(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(clock_module, "_run_delay_reader", lambda: None)
    assert passed_ns(own_time_reader(), kernel, 4_000_000, waited_ns=3_000_000) == 4_000_000


def test_short_waits_that_come_to_light_later_do_not_turn_it_back(kernel: Kernel):
    read_ns = own_time_reader()
    assert passed_ns(read_ns, kernel, GAP_NS // 2, waited_ns=GAP_NS // 2) == GAP_NS // 2
    assert passed_ns(read_ns, kernel, 2 * GAP_NS, waited_ns=2 * GAP_NS) == 0


def test_the_real_clock_goes_forward():
    read_ns = own_time_reader()
    readings = [read_ns() for _ in range(1000)]
    assert readings == sorted(readings)


# -- a watched slice, in which only a fake clock moves ------------------------------------------


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


def watched(func: Any, pairs: int = 3, **how: Any) -> SlicesProfile:
    how = {"profile": Profiling.FUNCTIONS, **how}
    plan = Plan(Mode.SLICED, calls=2, pairs=pairs, warmup=0, **how)
    clock, calls = ProfilingClock(CLOCK, plan, CLOCK.read_ns), Calls(func)
    for _ in range(pairs):
        calls.timed(plan.calls, clock)
    return clock.profile()


def function(profile: SlicesProfile, name: str) -> FunctionRecord:
    return next(each for each in profile.functions if each.key == (HERE, name))


def test_calls_are_counted_exactly_and_time_is_the_functions_own():
    profile = watched(learn)
    assert profile.calls == 4  # the third slice was sampled
    assert function(profile, "learn").calls == 4
    assert function(profile, "act").calls == 4 * 5
    # The fake clock's own methods are functions too, and the time passes in them.
    computing = "FakeClock.compute"
    times = {each.key[1]: each.typical_ns for each in profile.functions}
    assert times[computing] == pytest.approx(5 * 30 + 50)


def test_a_comprehension_is_part_of_its_function():
    names = [each.key[1] for each in watched(learn).functions]
    assert not any("listcomp" in name for name in names)


def test_native_functions_are_counted_by_caller():
    assert function(watched(learn), "learn").natives["len"].calls == 4


def test_what_a_function_calls_is_known_with_the_time_it_took():
    callees = {key[1]: callee for key, callee in function(watched(learn), "learn").callees}
    assert callees["act"].calls == 20
    assert callees["act"].ns == pytest.approx(20 * 30)


def longest(words: list[str]) -> str:
    def size(word: str) -> int:
        act()
        return len(word)

    return max(words, key=size)


def test_a_way_through_a_native_function_is_known():
    profile = watched(lambda: longest(["a", "bb"]))
    through = next(each for each in profile.functions if each.key == ("", "max"))
    size = (HERE, "longest.<locals>.size")
    assert dict(through.callees)[size].calls == 8
    assert dict(through.callees)[size].ns == pytest.approx(8 * 30)
    assert function(profile, "longest").callees[0][0] == ("", "max")


def test_this_packages_own_functions_are_left_out():
    files = {each.key[0] for each in watched(learn).functions}
    assert not any("pytest_rlperf" in file and "tests" not in file for file in files)
    assert "<rlperf loop>" not in files


def test_a_single_slice_has_its_functions_counted():
    assert function(watched(learn, pairs=1), "learn").calls == 2


def test_lines_of_one_function_are_timed_with_what_they_call():
    profile = watched(learn, profile=Profiling.LINES, lines_of="learn").lines
    assert profile is not None
    assert profile.source[0] == "def learn() -> int:"
    assert profile.lines[profile.first + 1] == LineCost(1.0, 30.0)
    assert profile.lines[profile.first + 2] == LineCost(1.0, 50.0)


@pytest.mark.parametrize("name", ["nowhere", "elsewhere.py:learn"])
def test_a_function_that_does_not_run_has_no_lines(name: str):
    assert watched(learn, profile=Profiling.LINES, lines_of=name).lines is None


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
