"""One rank's part in a benchmark of a whole job: its clock, its calls, its scout and its player.

Slices of all ranks begin and end together, and all ranks make equally many calls.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_rlperf.memory.counters import own_peak_bytes
from pytest_rlperf.model.plan import MOST_CALLS, SETUP_CALLS_MAX, Mode, Plan, Scouted
from pytest_rlperf.mpi.communicator import RankComm, timed
from pytest_rlperf.wire import Channel, Measurement, Order, RankShare, ScoutReport
from pytest_rlperf.worker.calls import Calls, Rounds, Work, counts
from pytest_rlperf.worker.clock import Clock, Elapsed
from pytest_rlperf.worker.player import Player
from pytest_rlperf.worker.scout import ENOUGH_NS, ENOUGH_SETUP_NS, LONG_CALL_NS
from pytest_rlperf.worker.turns import Baton

if TYPE_CHECKING:
    from pytest_rlperf.worker.watch import CodeWatch

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these


class RankClock:
    """A clock whose slices begin and end together in all ranks. The barriers are outside of the
    time. After the second one no rank of the job computes any more, so that the other side may have
    the cores.
    """

    def __init__(self, clock: Clock, world: Any) -> None:
        self._clock = clock
        self._world = world

    def start(self) -> None:
        self._world.Barrier()
        self._clock.start()

    def stop(self) -> Elapsed:
        elapsed = self._clock.stop()
        self._world.Barrier()
        return elapsed


class RankCalls(Calls):
    """The measured function of a rank, and what is known of the rank besides its times."""

    def __init__(
        self,
        func: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, object],
        setup: Callable[[], Any] | None,
        comm: RankComm,
    ) -> None:
        super().__init__(func, args, kwargs, setup)
        self._comm = comm
        self._slice = 1
        self._watched = False
        self._exchange_ns: list[int] = []  # CPU time inside of MPI, one a watched slice

    def watch(self) -> None:
        """Note from now on what each slice spends inside of calls of the communicator."""
        self._watched = True

    def exchanges(self) -> int:
        """Make a further call, as all ranks do; return how often it called the communicator."""
        with timed(self._comm) as spent:
            self.once()
        return spent.calls

    def timed(self, calls: int, clock: Clock) -> Elapsed:
        self._slice = calls
        if not self._watched:
            return super().timed(calls, clock)
        with timed(self._comm) as spent:
            elapsed = super().timed(calls, clock)
        self._exchange_ns.append(spent.cpu_ns)
        return elapsed

    def add_facts(self, measurement: Measurement, plan: Plan) -> Measurement:
        """Return the measurement with this rank's share. All ranks call this after the last slice:
        it makes a further one.
        """
        share = RankShare(self._communication(), own_peak_bytes(), tuple(self._exchange_ns))
        return replace(super().add_facts(measurement, plan), rank=share)

    def _communication(self) -> float:
        """Return the share of a further slice that is spent inside calls of the communicator,
        waiting for slower ranks included; what goes past it, such as waiting for a request, is not
        seen.
        """
        begun = time.perf_counter_ns()
        with timed(self._comm) as spent:
            self.warm(self._slice)
        return spent.wall_ns / max(1, time.perf_counter_ns() - begun)


def scout_ranks(
    calls: Calls, clock: Clock, world: Any, now_quiet: Callable[[], None] = lambda: None
) -> Scouted:
    """Return what a plan is chosen by, of the slowest rank in each respect. `now_quiet` is called
    before the calls whose time counts.
    """
    first = _timed(calls, 1, clock, world)
    now_quiet()
    number, elapsed = 1, first
    most = SETUP_CALLS_MAX if calls.has_setup else MOST_CALLS
    if first.own_ns < LONG_CALL_NS:  # a longer one is its own estimate
        elapsed = _timed(calls, 1, clock, world)
        while (
            elapsed.own_ns < ENOUGH_NS
            and number < most
            and number * calls.setup_ns < ENOUGH_SETUP_NS
        ):
            number = min(most, number * (4 if elapsed.own_ns < ENOUGH_NS // 8 else 2))
            elapsed = _timed(calls, number, clock, world)
    return Scouted(
        call_ns=elapsed.own_ns / number,
        first_ns=float(first.own_ns),
        cpu_share=min(1.0, elapsed.cpu_ns / elapsed.own_ns),
        processes=world.Get_size(),
        has_setup=calls.has_setup,
        setup_ns=calls.setup_ns,
    )


def _timed(calls: Calls, number: int, clock: Clock, world: Any) -> Elapsed:
    """Time some calls of all ranks. All get the same answer, or they would go on differently."""
    elapsed = calls.timed(number, clock)
    ranks = world.allgather((*elapsed, calls.setup_ns))
    wall, cpu, delay, setup = (max(values) for values in zip(*ranks, strict=True))
    calls.setup_ns = setup
    return Elapsed(wall, cpu, min(delay, *(rank[2] for rank in ranks)))


class RankPlayer(Player):
    """Takes turns with the same rank of the other side; the slices of its job begin together."""

    ends_alone = False  # the other ranks may have lost no partner, and would be waited for

    def __init__(
        self,
        channel: Channel,
        clock: Clock,
        side: int,
        baton: Baton,
        slowdown: float,
        world: Any,
        watch: "CodeWatch | None" = None,
    ) -> None:
        super().__init__(channel, RankClock(clock, world), side, baton, slowdown, watch=watch)
        self._world = world

    def _play(self, order: Order, calls: Calls | Rounds, work: Work, steps: int | None) -> None:
        assert isinstance(calls, RankCalls)  # the fixture makes no others
        if order.plan is not None:
            if order.plan.mode is Mode.CONCURRENT:
                calls.watch()
            self._play_block(order, order.plan, calls, work, steps)
            return
        clock, world = self._with_phases(self._clock), self._world
        seen = self._watched(calls, lambda now_quiet: scout_ranks(calls, clock, world, now_quiet))
        seen = replace(seen, exchanges=max(self._world.allgather(calls.exchanges())))
        self._channel.send(ScoutReport(seen, counts(work, calls.result), steps))
