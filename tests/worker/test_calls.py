"""The loop around the measured function: what it calls, what it times, what it costs."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.errors import FixtureError
from pytest_rlperf.model.plan import Mode, Plan, Scouted
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.worker import calls as loop_module
from pytest_rlperf.worker.calls import (
    OVERHEAD_CALLS,
    OVERHEAD_ROUNDS,
    Calls,
    Rounds,
    loop_overhead_ns,
    make_loop,
)
from pytest_rlperf.worker.clock import Elapsed
from pytest_rlperf.worker.scout import scout
from pytest_rlperf.workers.planning import choose_plan, lengthened
from tests.factories import FakeClock, examples


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

    calls = Calls(work, (100,))
    assert calls.timed(7, clock) == Elapsed(wall_ns=700, cpu_ns=700, delay_ns=0)
    assert calls.result == 100


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

    calls = Calls(work, setup=setup)
    assert calls.timed(3, clock).own_ns == 30
    assert calls.result == 1
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
    assert Calls(lambda: "no argument", setup=lambda: None).once() == "no argument"


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


# -- rounds that a test counts: as many calls as declared, whoever plays them -------------------


MS, S = 10**6, 10**9

counted = given(rounds=st.integers(1, 60), iterations=st.integers(1, 5), warmup=st.integers(0, 4))


class Counter:
    """A function that takes time and counts its calls."""

    def __init__(self, call_ns: int = 1 * MS) -> None:
        self.clock = FakeClock()
        self.calls = 0
        self._call_ns = call_ns

    def __call__(self) -> int:
        self.clock.compute(self._call_ns)
        self.calls += 1
        return self.calls


def expected(rounds: int, iterations: int, warmup: int) -> int:
    """What pytest-benchmark makes: where a round is a loop, its result takes a call more."""
    return (warmup + rounds) * iterations + (iterations > 1)


def plan_of(rounds: Rounds, call_ns: float) -> Plan:
    seen = Scouted(
        call_ns,
        call_ns,
        cpu_share=1.0,
        processes=1,
        rounds=rounds.rounds,
        iterations=rounds.iterations,
        warmup=rounds.warmup,
    )
    return choose_plan(seen, Spec(), cores=2)


def played(rounds: Rounds, plan: Plan, work: Counter) -> Any:
    """Play the rounds as the player does."""
    for _ in range(plan.warmup):
        rounds.once()
    rounds.warm(plan.calls)
    for _ in range(plan.pairs):
        rounds.timed(plan.calls, work.clock)
    return rounds.finish()


@examples
@counted
def test_a_block_makes_the_declared_calls(rounds: int, iterations: int, warmup: int):
    work = Counter()
    made = Rounds(work, rounds=rounds, iterations=iterations, warmup=warmup)
    plan = plan_of(made, 0.3 * MS)
    assert played(made, plan, work) == work.calls == expected(rounds, iterations, warmup)
    assert plan.calls * plan.pairs == rounds * iterations
    assert made.times_ns == [1 * MS] * rounds


@examples
@counted
def test_the_scout_makes_the_declared_calls_too(rounds: int, iterations: int, warmup: int):
    work = Counter()
    made = Rounds(work, rounds=rounds, iterations=iterations, warmup=warmup)
    seen = scout(made, work.clock)
    assert made.finish() == work.calls == expected(rounds, iterations, warmup)
    assert seen.first_ns == seen.call_ns == 1 * MS
    assert (seen.rounds, seen.iterations, seen.warmup) == (rounds, iterations, warmup)


@pytest.mark.parametrize("iterations", [1, 3])
@pytest.mark.parametrize("warmup", [0, 2])
def test_what_the_partner_left_undone_is_made_up_for(iterations: int, warmup: int):
    work = Counter()
    made = Rounds(work, rounds=4, iterations=iterations, warmup=warmup)
    for _ in range(warmup + 1):  # what a side does whose partner cannot play
        made.once()
    assert made.finish() == work.calls == expected(4, iterations, warmup)
    assert len(made.times_ns) == 4


@pytest.mark.parametrize("call_ns", [100, 1 * MS, 20 * MS, 2 * S])
@pytest.mark.parametrize("rounds", [1, 7, 24, 1000])
def test_a_plan_for_counted_rounds_is_exact_and_never_lengthened(call_ns: int, rounds: int):
    plan = plan_of(Rounds(int, rounds=rounds), call_ns)
    assert plan.exact
    assert plan.calls * plan.pairs == rounds
    assert lengthened(plan, Spec(), 8) == plan


def test_a_slice_holds_a_divisor_of_the_rounds_near_what_fills_a_turn():
    plan = plan_of(Rounds(int, rounds=100), 0.1 * MS)
    assert (plan.calls, plan.pairs) == (20, 5)


def test_counted_rounds_of_several_processes_take_turns():
    seen = Scouted(50.0 * MS, 50.0 * MS, cpu_share=1.0, processes=3, rounds=5)
    assert choose_plan(seen, Spec(), cores=2).mode is not Mode.LIVE


def test_of_two_sides_the_longer_rounds_are_planned_for_and_the_shorter_side_says_so():
    sides = [Scouted(1.0, 1.0, 1.0, 1, rounds=n) for n in (4, 5)]
    plan = choose_plan(sides[0].worst(sides[1]), Spec(), cores=2)
    work = Counter()
    with pytest.raises(FixtureError, match="4 rounds of 1 calls here and more on the other side"):
        played(Rounds(work, rounds=4), plan, work)


def test_setup_and_teardown_stand_around_each_call_outside_of_its_time():
    clock, log = FakeClock(), []

    def setup() -> tuple[tuple[str], dict[str, Any]]:
        clock.compute(1000)
        log.append("setup")
        return ("state",), {}

    def work(state: str) -> str:
        clock.compute(10)
        log.append("call")
        return state

    def teardown(state: str) -> None:
        clock.compute(1000)
        log.append("teardown")

    made = Rounds(work, setup=setup, teardown=teardown, rounds=3)
    assert made.timed(3, clock).own_ns == 30
    assert made.result == "state"
    assert log == ["setup", "call", "teardown"] * 3


def test_teardown_alone_comes_once_a_round_with_the_arguments():
    log: list[Any] = []
    made = Rounds(
        lambda *args, **kwargs: log.append("call"),
        (1,),
        {"two": 2},
        teardown=lambda *args, **kwargs: log.append((args, kwargs)),
        rounds=2,
        iterations=3,
    )
    made.timed(6, FakeClock())
    assert log == (["call"] * 3 + [((1,), {"two": 2})]) * 2
    assert made.has_setup
    assert not made.loop_counts
