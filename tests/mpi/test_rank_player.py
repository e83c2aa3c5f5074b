"""Slices of ranks: they begin together, and make equally many calls."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from mpi4py import MPI

from pytest_rlperf.model.plan import Mode, Plan
from pytest_rlperf.mpi.communicator import RankComm
from pytest_rlperf.mpi.rank_player import RankCalls, RankClock, RankPlayer, scout_ranks
from pytest_rlperf.wire import HEAD, Channel, Go, Order
from pytest_rlperf.worker.calls import Calls
from pytest_rlperf.worker.turns import Baton
from tests.factories import FakeChannel, FakeClock


class World:
    """A communicator whose other rank sees times of its own."""

    def __init__(self, clock: FakeClock, other: Callable[[Any], Any] = lambda own: own) -> None:
        self._clock = clock
        self._other = other

    def Barrier(self) -> None:  # noqa: N802
        self._clock.compute(1_000)  # waiting for the others

    def Get_size(self) -> int:  # noqa: N802
        return 2

    def allgather(self, own: Any) -> list[Any]:
        return [own, self._other(own)]


def test_waiting_for_the_others_is_outside_of_the_time():
    clock = FakeClock()
    ranked = RankClock(clock, World(clock))
    ranked.start()
    clock.compute(7)
    assert ranked.stop().own_ns == 7


def test_a_scout_goes_by_the_slowest_rank():
    clock = FakeClock()
    world = World(clock, lambda own: (3 * own[0], 3 * own[1], own[2], own[3]))
    calls = Calls(lambda: clock.compute(1_000_000))
    seen = scout_ranks(calls, clock, world)
    assert seen.call_ns == 3_000_000
    assert seen.processes == 2


def test_a_scout_calls_short_functions_until_they_fill_enough_time():
    clock = FakeClock()
    made = []

    def call() -> None:
        clock.compute(100)
        made.append(1)

    assert scout_ranks(Calls(call), clock, World(clock)).call_ns == 100
    assert len(made) > 100_000


@pytest.mark.parametrize("mode", [None, *Mode])
@pytest.mark.parametrize("setup", [None, dict])
def test_the_result_is_that_of_the_last_call_also_of_one_that_counts_messages(
    mode: Mode | None, setup: Callable[[], Any] | None
):
    clock, made = FakeClock(), []

    def call(*state: object) -> int:
        clock.compute(1_000_000)
        made.append(1)
        return len(made)

    plan = None if mode is None else Plan(mode, calls=2, pairs=3, warmup=1)
    channel = cast(Channel, FakeChannel([Go()]))
    player = RankPlayer(channel, clock, HEAD, Baton(None), 0.0, World(clock))
    player.begin(Order("test_a.py::test_a", 30.0, plan, seed=1))
    calls = RankCalls(call, (), {}, setup, RankComm(MPI.COMM_SELF.Dup()))
    assert player.play(calls, None, None) == len(made)
