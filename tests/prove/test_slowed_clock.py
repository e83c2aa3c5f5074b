"""An injected slowdown is of the size and of the kind that it says."""

from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.model.plan import Mode, Plan
from pytest_rlperf.prove.slowed_clock import (
    LEAST_COMPUTED_NS,
    LEAST_SLEPT_NS,
    RealTime,
    SlowedClock,
    Spender,
)
from pytest_rlperf.wire import HEAD, Channel, Go, Order
from pytest_rlperf.worker import player as player_module
from pytest_rlperf.worker.calls import Calls, Rounds
from pytest_rlperf.worker.clock import Elapsed, SystemClock
from pytest_rlperf.worker.player import Player
from pytest_rlperf.worker.turns import Baton
from tests.factories import FakeChannel, FakeClock, examples

MS = 10**6
shares = st.floats(min_value=0.001, max_value=2.0)


def timed(clock: SlowedClock, work: Callable[[], None]) -> Elapsed:
    clock.start()
    work()
    return clock.stop()


def test_ten_percent_are_ten_percent():
    clock = FakeClock()
    taken = timed(SlowedClock(clock, 0.1, clock), lambda: clock.compute(2 * MS))
    assert taken == Elapsed(2_200_000, 2_200_000, 0)


def test_what_was_slept_is_made_longer_by_sleep():
    clock = FakeClock()

    def work() -> None:
        clock.compute(1 * MS)
        clock.sleep(3 * MS)

    taken = timed(SlowedClock(clock, 0.1, clock), work)
    assert taken == Elapsed(wall_ns=4_400_000, cpu_ns=1_100_000, delay_ns=0)


def test_a_wait_for_the_core_is_none_of_the_slices_time():
    clock = FakeClock()

    def work() -> None:
        clock.compute(1 * MS)
        clock.wait_for_core(5 * MS)

    taken = timed(SlowedClock(clock, 0.1, clock), work)
    assert taken == Elapsed(wall_ns=6_100_000, cpu_ns=1_100_000, delay_ns=5 * MS)


def test_computing_in_several_threads_at_once_counts_as_long_as_it_took():
    clock = FakeClock()

    def work() -> None:
        clock.compute(1 * MS)
        clock.cpu_ns += 1 * MS  # of the other thread

    assert timed(SlowedClock(clock, 0.1, clock), work).own_ns == 1_100_000


@examples
@given(shares, st.lists(st.tuples(st.integers(0, MS), st.integers(0, MS)), min_size=1, max_size=20))
def test_the_share_holds_for_the_sum_of_all_slices(share: float, parts: list[tuple[int, int]]):
    """However short they are: what one could not spend, the next ones do."""
    clock = FakeClock()
    slowed = SlowedClock(clock, share, clock)

    total = 0
    for computed, slept in parts:
        slowed.start()
        clock.compute(computed)
        clock.sleep(slept)
        total += slowed.stop().wall_ns
    wanted = (1 + share) * sum(map(sum, parts))
    # A slice of no time counts as one nanosecond, and each is spent in whole ones.
    slack = (1 + share) * len(parts)
    assert wanted - LEAST_COMPUTED_NS - LEAST_SLEPT_NS - slack <= total <= wanted + slack


@examples
@given(st.floats(0.011, 2.0), st.integers(LEAST_COMPUTED_NS // 2, 10 * LEAST_COMPUTED_NS))
def test_time_spent_too_long_is_made_good(share: float, late_ns: int):
    """A spender that is always late, as sleep is, would make every slice too long."""
    clock = FakeClock()

    class Late:
        def compute(self, ns: int) -> None:
            clock.compute(ns + late_ns)

        sleep = compute

    slowed = SlowedClock(clock, share, Late())
    due_ns = round(share * MS)
    taken = [timed(slowed, lambda: clock.compute(MS)).own_ns for _ in range(50)]
    assert sum(taken) == pytest.approx(50 * (MS + due_ns), abs=late_ns + due_ns + 50)


def test_one_wild_moment_does_not_take_the_slowdown_from_later_slices():
    clock = FakeClock()

    class Once:
        late_ns = 100 * MS

        def compute(self, ns: int) -> None:
            clock.compute(ns + self.late_ns)
            self.late_ns = 0

        sleep = compute

    slowed = SlowedClock(clock, 0.1, Once())
    taken = [timed(slowed, lambda: clock.compute(MS)).own_ns for _ in range(5)]
    assert taken == [101_100_000, 1_000_000, 1_099_000, 1_100_000, 1_100_000]


def test_a_clock_that_does_not_see_the_spent_time_gets_no_more_and_more_of_it():
    clock, spent = FakeClock(), list[int]()

    class Elsewhere:
        def compute(self, ns: int) -> None:
            spent.append(ns)

        sleep = compute

    slowed = SlowedClock(clock, 0.1, Elsewhere())
    for _ in range(5):
        timed(slowed, lambda: clock.compute(MS))
    assert max(spent) <= 100_000 + LEAST_COMPUTED_NS


def test_real_time_is_spent_on_the_clock_of_this_thread():
    clock = SystemClock()
    clock.start()
    RealTime().compute(2 * MS)
    computed = clock.stop()
    clock.start()
    RealTime().sleep(2 * MS)
    slept = clock.stop()
    assert computed.cpu_ns >= 2 * MS
    assert slept.wall_ns >= 2 * MS > slept.cpu_ns


def test_a_fake_clock_spends_its_own_time_and_a_real_one_does_not():
    assert isinstance(FakeClock(), Spender)
    assert not isinstance(SystemClock(), Spender)


# -- as the player plays it -----------------------------------------------------------------------


def own_times(clock: FakeClock, calls: Calls | Rounds, plan: Plan, slowdown: float) -> list[int]:
    channel = FakeChannel([Go()])
    made = Player(cast(Channel, channel), clock, HEAD, Baton(None), slowdown)
    made.begin(Order("test_a.py::test_a", 30.0, plan, seed=1))
    made.play(calls, None, None)
    return list(channel.measured.block.own_ns)


@pytest.mark.parametrize("mode", list(Mode))
def test_a_side_that_is_slowed_reports_longer_slices(mode: Mode):
    clock = FakeClock()
    plan = Plan(mode, calls=2, pairs=3, warmup=1)
    assert own_times(clock, Calls(lambda: clock.compute(MS)), plan, 0.1) == [2_200_000] * 3


def test_where_wall_time_is_judged_the_share_is_of_wall_time():
    clock = FakeClock()

    def work() -> None:
        clock.compute(1 * MS)
        clock.wait_for_core(1 * MS)

    plan = Plan(Mode.SLICED, calls=1, pairs=3, warmup=0, wall=True)
    assert own_times(clock, Calls(work), plan, 0.1) == [2_200_000] * 3


def test_what_the_loop_costs_is_not_made_longer(monkeypatch: pytest.MonkeyPatch):
    """It is subtracted from the slice, so a share of it would make the change too large."""
    loop_ns, call_ns = 10, 100
    monkeypatch.setattr(player_module, "loop_overhead_ns", lambda clock: float(loop_ns))
    clock = FakeClock()
    plan = Plan(Mode.SLICED, calls=1000, pairs=3, warmup=0)
    times = own_times(clock, Calls(lambda: clock.compute(loop_ns + call_ns)), plan, 0.1)
    assert times == [110_000] * 3


def test_rounds_with_a_setup_each_are_slowed_as_a_whole():
    clock = FakeClock()
    rounds = Rounds(
        lambda: clock.compute(500), setup=lambda: ((), {}), rounds=400, iterations=1, warmup=0
    )
    plan = Plan(Mode.SLICED, calls=200, pairs=2, warmup=0, exact=True)
    assert own_times(clock, rounds, plan, 0.1) == [110_000] * 2
