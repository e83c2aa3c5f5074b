"""The loop around the measured function: what it calls, what it times, what it costs."""

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_rlperf.measure import loop as loop_module
from pytest_rlperf.measure.clock import Elapsed
from pytest_rlperf.measure.loop import (
    OVERHEAD_CALLS,
    OVERHEAD_ROUNDS,
    Calls,
    loop_overhead_ns,
    make_loop,
)
from tests.factories import FakeClock


def test_the_loop_calls_as_often_as_told_and_returns_the_last_result():
    calls: list[int] = []

    def count() -> int:
        calls.append(1)
        return len(calls)

    assert make_loop(count, (), {})(5) == 5


def test_no_calls_give_no_result():
    assert make_loop(lambda: 1 / 0, (), {})(0) is None


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {}),
        ((1, "two", [3]), {}),
        ((), {"x": 1, "y": None}),
        ((1,), {"lambda": 0.9, "class": None}),
        ((), {"x": 1, "no identifier": [2], "": 3}),
        ((1,), {"n": 2, "func": 3, "repeat": 4, "result": 5, "a0": 6, "k0": 7}),
    ],
)
def test_the_function_gets_its_arguments_unchanged(args: tuple[Any, ...], kwargs: dict[str, Any]):
    def spy(*given: Any, **named: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return given, named

    found_args, found_kwargs = make_loop(spy, args, kwargs)(2)
    assert found_args == args
    assert found_kwargs == kwargs
    assert all(found is given for found, given in zip(found_args, args, strict=True))


class Script:
    """A clock whose readings are written down beforehand."""

    def __init__(self, own_ns: list[int]) -> None:
        self._left = own_ns

    def start(self) -> None: ...

    def stop(self) -> Elapsed:
        return Elapsed(self._left.pop(0), 0, 0)


def test_the_loops_own_cost_is_the_least_of_a_few_tries():
    rounds = [7 * OVERHEAD_CALLS] * (OVERHEAD_ROUNDS - 1) + [3 * OVERHEAD_CALLS]
    assert loop_overhead_ns(Script(rounds)) == 3.0


def test_a_slice_is_timed_around_all_its_calls():
    clock = FakeClock()

    def work(ns: int) -> int:
        clock.compute(ns)
        return ns

    elapsed, result = Calls(work, (100,)).timed(7, clock)
    assert elapsed == Elapsed(wall_ns=700, cpu_ns=700, delay_ns=0)
    assert result == 100


def test_setup_makes_a_fresh_state_for_each_call_outside_the_timed_part():
    clock, used = FakeClock(), []

    def setup() -> list[int]:
        clock.compute(1_000)
        return []

    def work(state: list[int]) -> int:
        clock.compute(10)
        used.append(state)
        state.append(1)
        return len(state)

    elapsed, result = Calls(work, setup=setup).timed(3, clock)
    assert elapsed.own_ns == 30
    assert result == 1
    assert len({id(state) for state in used}) == 3


def test_the_time_of_one_setup_is_known_after_a_slice(monkeypatch: pytest.MonkeyPatch):
    clock = FakeClock()
    fake = SimpleNamespace(perf_counter_ns=lambda: clock.wall_ns)
    monkeypatch.setattr(loop_module, "time", fake)
    calls = Calls(lambda: clock.compute(10), setup=lambda: clock.compute(1_000))
    assert calls.setup_ns == 0
    calls.timed(3, clock)
    assert calls.setup_ns == 1_000


def test_a_setup_that_returns_nothing_hands_nothing_over():
    assert (
        Calls(lambda: "no argument", setup=lambda: None).timed(2, FakeClock())[1] == "no argument"
    )


@pytest.mark.parametrize("setup", [None, list])
def test_once_is_one_call(setup: Any):
    calls: list[Any] = []
    spied = Calls(lambda *state: calls.append(state), setup=setup)
    assert spied.has_setup == (setup is not None)
    spied.once()
    assert len(calls) == 1


def test_an_exception_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        Calls(lambda x: x / 0, (1,)).timed(1, FakeClock())
