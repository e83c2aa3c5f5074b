"""Slices of ranks: they begin together, and make equally many calls."""

from collections.abc import Callable
from typing import Any

from pytest_rlperf.mpi.rank_player import RankClock, scout_ranks
from pytest_rlperf.worker.calls import Calls
from tests.factories import FakeClock


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
    seen, _ = scout_ranks(calls, clock, world)
    assert seen.call_ns == 3_000_000
    assert seen.processes == 2


def test_a_scout_calls_short_functions_until_they_fill_enough_time():
    clock = FakeClock()
    made = []

    def call() -> int:
        clock.compute(100)
        made.append(1)
        return len(made)

    seen, result = scout_ranks(Calls(call), clock, World(clock))
    assert seen.call_ns == 100
    assert result == len(made) > 100_000
