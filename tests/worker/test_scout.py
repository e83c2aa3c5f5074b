"""The first look at a benchmark, with a clock that only the benchmark moves."""

from collections import deque
from collections.abc import Callable
from functools import partial
from multiprocessing import resource_tracker
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from pytest_rlperf.model.plan import SETUP_CALLS_MAX
from pytest_rlperf.worker import calls as loop_module
from pytest_rlperf.worker import scout as scout_module
from pytest_rlperf.worker.calls import Calls
from pytest_rlperf.worker.scout import (
    CHILD_WATCH_S,
    ENOUGH_NS,
    ENOUGH_SETUP_NS,
    LONG_CALL_NS,
    scout,
)
from tests.factories import FakeClock

US, MS, S = 10**3, 10**6, 10**9


class Machine:
    """Time and processes that only the benchmark moves."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.children: dict[int, float] = {}  # CPU seconds of the living ones
        self.ended = 0.0  # and of those that ended

    def perf_counter(self) -> float:
        return self.clock.wall_ns / S

    def process(self) -> SimpleNamespace:
        found = [
            SimpleNamespace(pid=pid, cpu_times=partial(SimpleNamespace, user=cpu, system=0.0))
            for pid, cpu in self.children.items()
        ]
        return SimpleNamespace(children=lambda recursive: found)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    fake = Machine()
    psutil_of_it = SimpleNamespace(Process=fake.process, Error=psutil.Error)
    monkeypatch.setattr(scout_module, "psutil", psutil_of_it)
    monkeypatch.setattr(scout_module, "ended_children_cpu", lambda: fake.ended)
    monkeypatch.setattr(scout_module, "time", SimpleNamespace(perf_counter=fake.perf_counter))
    return fake


def first_slower(clock: FakeClock, first_ns: int, call_ns: int) -> Callable[[], None]:
    times = deque([first_ns])

    def work() -> None:
        clock.compute(times.popleft() if times else call_ns)

    return work


@pytest.mark.parametrize("call_ns", [100, 50 * US, 3 * MS, 500 * MS])
@pytest.mark.parametrize("first_ns", [700 * MS, 5 * S])
def test_the_first_call_is_told_apart_from_the_others(call_ns: int, first_ns: int):
    clock = FakeClock()
    seen = scout(Calls(first_slower(clock, first_ns, call_ns)), clock)
    assert seen.first_ns == first_ns
    assert seen.call_ns == call_ns


def test_short_calls_are_repeated_until_they_can_be_told_from_noise():
    clock = FakeClock()
    scout(Calls(first_slower(clock, 0, 100)), clock)
    assert ENOUGH_NS <= clock.wall_ns < 20 * ENOUGH_NS


@pytest.mark.parametrize("slow_one", [2, 3, 4])
def test_a_single_slow_call_does_not_pass_for_the_usual_one(slow_one: int):
    clock = FakeClock()
    number = 0

    def work() -> None:
        nonlocal number
        number += 1
        clock.compute(90 * MS if number == slow_one else 30 * MS)

    seen = scout(Calls(work), clock)
    assert seen.call_ns == 30 * MS


def test_a_call_long_enough_to_tell_is_not_repeated():
    clock = FakeClock()
    scout(Calls(lambda: clock.compute(200 * MS)), clock)
    assert clock.wall_ns == 2 * 200 * MS


def test_a_very_long_call_is_made_once():
    clock = FakeClock()
    seen = scout(Calls(lambda: clock.compute(30 * S)), clock)
    assert seen.call_ns == seen.first_ns == 30 * S > LONG_CALL_NS
    assert clock.wall_ns == 30 * S


def test_a_call_that_takes_no_time_ends_the_look_too():
    calls: list[None] = []
    seen = scout(Calls(lambda: calls.append(None), setup=lambda: None), FakeClock())
    assert seen.call_ns <= 1
    assert seen.has_setup
    assert len(calls) < 4 * SETUP_CALLS_MAX


def test_a_costly_setup_ends_the_look_and_is_told(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
):
    clock = machine.clock
    fake = SimpleNamespace(perf_counter_ns=lambda: clock.wall_ns)
    monkeypatch.setattr(loop_module, "time", fake)
    made: list[None] = []

    def setup() -> None:
        made.append(None)
        clock.compute(20 * MS)

    seen = scout(Calls(lambda: clock.compute(100), setup=setup), clock)
    assert (seen.call_ns, seen.setup_ns) == (100, 20 * MS)
    assert len(made) * 20 * MS < 4 * ENOUGH_SETUP_NS


def test_the_wait_for_a_core_is_left_out():
    clock = FakeClock()

    def work() -> None:
        clock.compute(20 * MS)
        clock.wait_for_core(30 * MS)

    seen = scout(Calls(work), clock)
    assert seen.call_ns == 20 * MS
    assert seen.cpu_share == 1.0


@pytest.mark.parametrize(("computing", "share"), [(20, 1.0), (15, 0.75), (0, 0.0)])
def test_the_share_of_computing_shows_a_call_that_waits(computing: int, share: float):
    clock = FakeClock()

    def work() -> None:
        clock.compute(computing * MS)
        clock.sleep((20 - computing) * MS)

    assert scout(Calls(work), clock).cpu_share == share


@pytest.mark.parametrize(
    ("busy_s", "processes"),
    [
        ({}, 1),
        ({7: 0.0}, 1),  # alive, and idle
        ({7: 0.1}, 2),
        ({7: 0.1, 8: 0.09, 9: 0.001}, 3),
    ],
)
def test_children_that_compute_are_part_of_the_job(
    machine: Machine, busy_s: dict[int, float], processes: int
):
    machine.children = dict.fromkeys(busy_s, 50.0)  # what they did before does not count

    def work() -> None:
        machine.clock.sleep(100 * MS)
        for pid, seconds in busy_s.items():
            machine.children[pid] += seconds

    assert scout(Calls(work), machine.clock).processes == processes


def test_a_child_that_lives_for_one_call_only_is_part_of_the_job(machine: Machine):
    def work() -> None:
        machine.clock.sleep(100 * MS)
        machine.ended += 0.1

    assert scout(Calls(work), machine.clock).processes == 2


def test_a_child_that_ended_before_the_test_is_not_watched_for(machine: Machine):
    machine.ended = 0.5
    assert scout(Calls(lambda: machine.clock.compute(1 * MS)), machine.clock).processes == 1
    assert machine.perf_counter() < CHILD_WATCH_S


def test_what_tidies_up_after_shared_memory_is_not_watched_for(machine: Machine):
    resource_tracker.ensure_running()
    machine.children = {cast(Any, resource_tracker)._resource_tracker._pid: 0.0}
    scout(Calls(lambda: machine.clock.compute(1 * MS)), machine.clock)
    assert machine.perf_counter() < CHILD_WATCH_S


def test_where_there_are_children_short_calls_are_watched_until_their_cpu_time_shows(
    machine: Machine,
):
    machine.children = {7: 0.0}

    def work() -> None:
        machine.clock.sleep(20 * MS)
        machine.children[7] = machine.perf_counter() // 0.2 * 0.2  # comes in coarse ticks

    assert scout(Calls(work), machine.clock).processes == 2
