"""Runs blocks: fresh workers, every test that is still undecided in lock-step.

Against a revision there is a block on every core at once. Neither side alone has the neighbour, so
the ratio of both does not show it: nine tests of 3 to 10 ms spread by 0.3 to 2.9 % from block to
block where the other core played blocks too, and by 0.5 to 2.0 % where it only started workers. A
tenth, which lives in the caches, spread by 16 % or more either way, and is played alone.
"""

import os
import random
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_rlperf.machine.host import core_ticks, steal_share
from pytest_rlperf.model.block import Spending
from pytest_rlperf.model.plan import Mode
from pytest_rlperf.wire import Order, WorkerKind
from pytest_rlperf.worker import disturbance
from pytest_rlperf.workers.lanes import Lane, Waiting, in_turns
from pytest_rlperf.workers.pair import SEED_MAX, Pair, Stage, start_pair
from pytest_rlperf.workers.process import Process, end_marked
from pytest_rlperf.workers.side import SideRun, State

GOODBYE_S = 5.0
"""For a session to end in good order, tearing down what its fixtures made."""


@dataclass(frozen=True, slots=True)
class Played:
    """One test in one block, as all sides ran it."""

    nodeid: str
    runs: tuple[SideRun, ...]
    core: int | None
    steal: float
    seconds: float  # fixtures, warm-up and slices of both sides
    index: int = 0  # of the block
    at_once: int = 1  # blocks that were played at the same time

    @property
    def share_s(self) -> float:
        """Return the part of the seconds that the run took longer by it."""
        return self.seconds / self.at_once

    @property
    def cost(self) -> Spending:
        """Return what that part went to on head's side. After its end it waited for the partner,
        who may have had to compile; of a side that was lost nothing is known.
        """
        cost = self.runs[0].cost.within(self.seconds) * (1 / self.at_once)
        if self.runs[0].cost == Spending() or len(self.runs) == 1:
            return cost
        return replace(cost, waiting=cost.waiting + cost.rest, rest=0.0)


class Blocks:
    """Plays as many blocks at once as the stage has lanes. With a single one, and for tests that
    need the machine for themselves, the next block's workers are started while this is played.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._alive: list[Pair] = []  # every pair that was started and may still run
        self._leaving: list[Pair] = []  # those that were told to stop
        self._ahead: dict[WorkerKind, Pair] = {}  # that wait for their block
        self._started = 0  # pairs
        self._startup_s = 0.0
        self._startups_s: dict[tuple[int, int], float] = {}  # the last, by ranks and threads
        self.waited_s = 0.0  # for workers to come up and to end, while there was no test to play

    @property
    def startup_s(self) -> float:
        """Return the seconds that the last workers took to come up: a block that is over sooner has
        to wait for the next one's, or takes less time than its workers did. 0 of ranks that need
        all cores, whose blocks are long.
        """
        return self._startup_s

    @property
    def lanes(self) -> int:
        """Return how many blocks are played at once."""
        return self._stage.lanes

    def block_s(self, kind: WorkerKind, tests_s: float) -> float:
        """Return what a block takes in which tests of one kind take `tests_s`. Its workers come up
        while the block before is played, unless all cores are busy with that.
        """
        startup_s = self._startups_s.get((kind.nprocs, kind.threads), 0.0)
        if kind.shares_machine and self.lanes > 1:
            return startup_s + tests_s / self.lanes
        return max(startup_s, tests_s) if self._starts_ahead(kind) else startup_s + tests_s

    def _starts_ahead(self, kind: WorkerKind) -> bool:
        return len(self._stage.cores) > max(1, kind.nprocs)

    def run(
        self,
        index: int,
        shares: Sequence[Sequence[Order]],
        candidates: Sequence[Order],
        startup_s: float,
    ) -> Iterator[Played]:
        """Run blocks, and yield each test as it was played: the first of `shares` are the orders of
        block `index`, the others of those after it, which run at the same time. Workers collect all
        `candidates`, since those that are started ahead may be told to run any of them. Another
        number of threads or ranks needs other workers. Block 0 is that of the scouts, which may
        come again between two others.
        """
        resumed = time.monotonic()
        for played in self._run(index, shares, candidates, startup_s):
            self.waited_s += time.monotonic() - resumed - played.share_s
            yield played
            resumed = time.monotonic()

    def _run(
        self,
        index: int,
        shares: Sequence[Sequence[Order]],
        candidates: Sequence[Order],
        startup_s: float,
    ) -> Iterator[Played]:
        by_kind = self._by_kind(index, shares)
        self._end_those_leaving(by_kind if index else self._ahead)
        for kind, blocks in by_kind.items():
            nodeids = [order.nodeid for order in candidates if order.kind == kind]
            if kind.nprocs and isinstance(self._stage.launcher, str):
                for orders in blocks.values():
                    yield from _skipped(orders, self._stage.launcher)
                continue
            # Who needs several cores, or may, has no other block beside it.
            narrow = kind.shares_machine and len(blocks) > 1
            for at_once in [blocks] if narrow else [{i: o} for i, o in blocks.items()]:
                lanes = [
                    self._lane(i, kind, orders, nodeids, startup_s, len(at_once))
                    for i, orders in at_once.items()
                ]
                yield from in_turns(lanes)

    def _by_kind(
        self, index: int, shares: Sequence[Sequence[Order]]
    ) -> dict[WorkerKind, dict[int, list[Order]]]:
        """Return the orders of each block by the kind of its workers, in the order of turns."""
        kinds: dict[WorkerKind, dict[int, list[Order]]] = {}
        for kind in sorted({order.kind for orders in shares for order in orders}):
            for number, orders in enumerate(shares, index):
                if own := [order for order in orders if order.kind == kind]:
                    kinds.setdefault(kind, {})[number] = self._rotated(number, own)
        return kinds

    def _rotated(self, index: int, orders: list[Order]) -> list[Order]:
        """Return the orders of a block, rotated so that each block begins elsewhere: its first
        tests are disturbed most, by the start of other workers. Neighbours stay neighbours, so that
        fixtures of a module are made once. Scouts come in the order of who shall be first.
        """
        start = self._rng(index, "first").randrange(len(orders)) if index else 0
        return orders[start:] + orders[:start]

    def _lane(
        self,
        index: int,
        kind: WorkerKind,
        orders: list[Order],
        nodeids: list[str],
        startup_s: float,
        at_once: int,
    ) -> Lane[Played]:
        """Run one block; yield each test, and what it waits for in between."""
        pair = self._started_ahead(kind, orders) or self._start(index, kind, nodeids)
        # Where all cores play, others are started after these, but the first ones beside scouts.
        busy = kind.shares_machine and self.lanes > 1 and index > 0
        ahead = self._starts_ahead(kind) and not busy
        if ahead and kind not in self._ahead:
            self._ahead[kind] = self._start(index + 1, kind, nodeids)
        beside = [*self._metronome(index, orders), *self._neighbour(index, orders)]
        try:
            yield from pair.collecting(startup_s)
            self._startup_s = pair.startup_s if ahead or kind.shares_machine else 0.0
            self._startups_s[kind.nprocs, kind.threads] = pair.startup_s
            for number, order in enumerate(orders):
                if not pair.usable:
                    pair.end()
                    pair = self._start(index, kind, nodeids)
                    yield from pair.collecting(startup_s)
                next_one = orders[number + 1].nodeid if number + 1 < len(orders) else None
                yield (yield from self._play(pair, index, order, next_one, at_once))
            pair.stop()  # its sessions end while the next blocks are played
        except GeneratorExit:  # the others are not played
            pair.stop()
            raise
        finally:
            self._leaving.append(pair)
            for process in beside:
                process.end()

    def _started_ahead(self, kind: WorkerKind, orders: Sequence[Order]) -> Pair | None:
        """Return the pair that waits for these tests. One that was started before a test turned out
        to be of this kind has not collected it, and is of no use.
        """
        pair = self._ahead.pop(kind, None)
        if pair is not None and not {order.nodeid for order in orders} <= pair.nodeids:
            pair.end()
            return None
        return pair

    def _metronome(self, index: int, orders: Sequence[Order]) -> Iterator[Process]:
        """Start what makes a core change often between sides that run at once, on each core of
        theirs.
        """
        together = any(order.plan and order.plan.mode is Mode.CONCURRENT for order in orders)
        if together and len(self._stage.sides) > 1:
            for core in self._cores_of(index, max(1, orders[0].nprocs)) or (None,):
                pinned = () if core is None else (core,)
                yield self._beside(disturbance.METRONOME, cores=pinned)

    def _neighbour(self, index: int, orders: Sequence[Order]) -> Iterator[Process]:
        """Start what keeps the next core busy, where this block is to be disturbed."""
        cores = self._stage.cores
        if not self._stage.disturbed or not cores or not any(order.plan for order in orders):
            return
        kind = disturbance.neighbour_of(index, len(cores))
        if kind is not None:
            yield self._beside(kind, cores=self._cores_of(index + 1, 1))

    def _beside(self, kind: str, cores: tuple[int, ...]) -> Process:
        """Start a process that disturbs these cores. It is told its parent: it may be an orphan
        before it could ask.
        """
        return Process(
            [sys.executable, "-I", "-S", disturbance.__file__, kind, str(os.getpid())],
            env=os.environ,
            cwd=str(self._stage.folder),
            cores=cores,
            fds=(),
            log=self._stage.folder / "beside.log",
        )

    def _play(
        self, pair: Pair, index: int, order: Order, following: str | None, at_once: int
    ) -> Waiting[Played]:
        # Scouts keep the cores they were started on, which are all.
        cores = self._cores_of(index, order.plan.cores) if order.plan else ()
        seed = self._rng(index, order.nodeid).randrange(SEED_MAX)
        order = replace(order, cores=cores, seed=seed, following=following)
        core = cores[0] if cores else None
        before, begun = core_ticks(core), time.monotonic()
        runs = yield from pair.running(order)
        steal, seconds = steal_share(before, core_ticks(core)), time.monotonic() - begun
        return Played(order.nodeid, tuple(runs), core, steal, seconds, index, at_once)

    def _start(self, index: int, kind: WorkerKind, nodeids: Sequence[str]) -> Pair:
        # Scouts are not compared, and see what a test keeps busy when nothing confines it. Pools
        # of threads are made as large as the cores they find at their start.
        confined = index and not kind.nprocs  # ranks find their own cores
        cores = self._cores_of(index, kind.threads) if confined else self._stage.cores
        self._started += 1
        rng = self._rng(self._started, "start")
        pair = start_pair(self._stage, kind, nodeids, rng=rng, cores=cores)
        self._alive.append(pair)
        return pair

    def _cores_of(self, index: int, number: int) -> tuple[int, ...]:
        """Return the block's core, then its neighbours; nothing where there is no pinning."""
        cores = self._stage.cores
        if not cores:
            return ()
        return tuple(cores[(index + k) % len(cores)] for k in range(min(number, len(cores))))

    def _rng(self, index: int, purpose: str) -> random.Random:
        return random.Random(f"{self._stage.seed}/{index}/{purpose}")

    def _end_those_leaving(self, playing: Collection[WorkerKind]) -> None:
        """End the pairs of the blocks before the last ones, which have had the time of those to end
        in good order, and pairs that were started ahead for tests which then had no turn.
        """
        for kind in [kind for kind in self._ahead if kind not in playing]:
            self._ahead.pop(kind).end()
        for pair in self._leaving[: -self.lanes]:
            pair.end(GOODBYE_S)
            self._alive.remove(pair)
        self._leaving = self._leaving[-self.lanes :]

    def close(self) -> None:
        """End all workers: at once those that wait for a block, soon those that are leaving."""
        begun = time.monotonic()
        for pair in self._ahead.values():
            pair.end()
        for pair in self._alive:
            pair.end(GOODBYE_S)
        end_marked(self._stage.token)
        self.waited_s += time.monotonic() - begun


def _skipped(orders: Iterable[Order], reason: str) -> Iterator[Played]:
    for order in orders:
        yield Played(order.nodeid, (SideRun(State.SKIPPED, reason),), None, 0.0, 0.0)
