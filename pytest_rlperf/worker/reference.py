"""The partner of a stored baseline: a worker that plays the reference kernels instead of tests."""

import gc
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import repeat

from pytest_rlperf.errors import PartnerGone
from pytest_rlperf.machine.host import core_of_rank, pin
from pytest_rlperf.model.plan import Mode, Plan
from pytest_rlperf.wire import (
    Channel,
    ChannelClosed,
    Collected,
    Finished,
    Job,
    KernelSpeeds,
    Measurement,
    Order,
)
from pytest_rlperf.worker.clock import Clock, Elapsed, SystemClock, summed
from pytest_rlperf.worker.kernels import Kernel, make_kernels
from pytest_rlperf.worker.player import Player
from pytest_rlperf.worker.turns import Baton

SCOUT_CALLS = 40


class KernelSlices:
    """Looks to the player like a measured function; every slice has all kernels in it.

    A test's slice then meets each of them at nearly the same moments. Slice by slice another
    kernel, they would be told apart by how the neighbours happened to change in between, and a
    test of one long call would meet only one.

    Where both run at once, a slice goes on until `over` says that the test's is: what would be left
    of that one had core and caches to itself. Scattered reads that did 25 % more read 17 % where a
    round of kernels too few had been planned.
    """

    has_setup = False
    loop_counts = False
    result = None

    def __init__(
        self,
        kernels: Mapping[str, Kernel],
        plan: Plan,
        rng: random.Random,
        over: Callable[[], bool],
    ) -> None:
        self._kernels = kernels
        self._calls = dict(plan.kernels)
        self._rounds = plan.kernel_rounds
        self._over = over if plan.mode is Mode.CONCURRENT else None
        self._rng = rng
        self._call_ns: dict[str, list[float]] = {name: [] for name in self._calls}

    def add_facts(self, measurement: Measurement, plan: Plan) -> Measurement:
        call_ns = {name: tuple(times) for name, times in self._call_ns.items()}
        return replace(measurement, kernel_ns=call_ns)

    def once(self) -> None:
        for name in self._calls:
            self._kernels[name]()

    def warm(self, calls: int) -> None:
        self.once()

    def timed(self, calls: int, clock: Clock) -> Elapsed:
        """`calls` is the test's own number: the kernels' are in the plan, for slices as long."""
        pieces: dict[str, list[Elapsed]] = {name: [] for name in self._calls}
        for _ in self._whole_rounds():
            for name in self._rng.sample(list(pieces), len(pieces)):
                pieces[name].append(self._piece(name, clock))
        for name, parts in pieces.items():
            own_ns = sum(part.own_ns for part in parts)
            self._call_ns[name].append(own_ns / (len(parts) * self._calls[name]))
        return summed(part for parts in pieces.values() for part in parts)

    def _whole_rounds(self) -> Iterator[None]:
        if self._over is None:
            yield from repeat(None, self._rounds)
            return
        yield
        while not self._over():
            yield

    def _piece(self, name: str, clock: Clock) -> Elapsed:
        kernel = self._kernels[name]
        clock.start()
        for _ in repeat(None, self._calls[name]):
            kernel()
        return clock.stop()


class ReferenceWorker:
    """Answers the controller as a worker that runs tests does."""

    def __init__(self, job: Job, channel: Channel, baton: Baton, rank: int | None = None) -> None:
        self._rank = rank  # of a job as large as the test's
        self._nodeids = job.nodeids
        self._channel = channel
        self._clock = SystemClock()
        self._baton = baton
        self._player = Player(channel, self._clock, job.side, baton)
        self._kernels = make_kernels()

    def work(self) -> int:
        gc.collect()
        gc.freeze()
        self._channel.send(Collected(self._nodeids, time.monotonic()))
        try:
            while isinstance(order := self._channel.receive(), Order):
                self._run(order)
        except ChannelClosed:
            return 3  # the controller is gone, and with it the reason to go on
        return 0

    def _run(self, order: Order) -> None:
        pin(order.cores if self._rank is None else core_of_rank(order.cores, self._rank))
        if order.plan is None:
            self._channel.send(KernelSpeeds(self._unit_ns()))
        else:
            self._play(order, order.plan)
        self._channel.send(Finished(played=True, abandoned=self._player.abandoned))

    def _play(self, order: Order, plan: Plan) -> None:
        with suppress(PartnerGone):  # the test's own trouble, which its own worker reports
            rng = random.Random(f"{order.seed}/kernels")
            slices = KernelSlices(self._kernels, plan, rng, over=self._baton.waiting)
            self._player.play_kernels(order, plan, slices)

    def _unit_ns(self) -> dict[str, float]:
        """Return what one call of each kernel takes."""
        unit_ns = {}
        for name, kernel in self._kernels.items():
            kernel()
            self._clock.start()
            for _ in repeat(None, SCOUT_CALLS):
                kernel()
            unit_ns[name] = self._clock.stop().own_ns / SCOUT_CALLS
        return unit_ns
