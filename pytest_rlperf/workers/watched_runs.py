"""Runs tests once, on all cores at once, to see which differences between the sides each of them
meets. Nothing of it is judged by time, so they may disturb each other.
"""

import itertools
import random
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_rlperf.trees.code_changes import SameCode
from pytest_rlperf.wire import Order, WorkerKind
from pytest_rlperf.workers.blocks import GOODBYE_S, Played
from pytest_rlperf.workers.lanes import LANES_MAX, Lane, in_turns
from pytest_rlperf.workers.pair import Pair, Side, Stage, start_pair
from pytest_rlperf.workers.process import end_marked
from pytest_rlperf.workers.side import SideRun, State

Share = Sequence[Order]
"""Tests of one file that one worker runs in a row, so that what their module makes is made once."""


@dataclass(frozen=True, slots=True)
class WatchedSide:
    """One test, as it ran on one side."""

    nodeid: str
    side: int
    run: SideRun
    seconds: float


class WatchedRuns:
    """Lets each test run on head alone. Up to the first difference that it meets, a test does the
    same on both sides, so what head does not meet the base does not, either. But head cannot be
    seen to miss a module that only the base has: then tests run on the base, too.
    """

    def __init__(self, stage: Stage, same_code: SameCode) -> None:
        sides = stage.sides if same_code.base_has_more else stage.sides[:1]
        # A mark of their own, since they are all ended when they are done.
        self._stage = replace(stage, sides=sides, token=f"{stage.token}-watched")
        self._same_code = same_code
        self._workers = 0  # that were started so far
        self.waited_s = 0.0  # for workers to come up and to end

    def run(self, orders: Sequence[Order], startup_s: float) -> Iterator[Played]:
        """Run the tests, and yield each as all sides that are watched ran it."""
        resumed = time.monotonic()
        try:
            for kind, group in itertools.groupby(sorted(orders, key=_kind), key=_kind):
                if kind.nprocs and isinstance(self._stage.launcher, str):
                    continue  # which is said where they are scouted
                for played in self._run_kind(kind, list(group), startup_s):
                    self.waited_s += time.monotonic() - resumed - played.share_s
                    yield played
                    resumed = time.monotonic()
        finally:
            end_marked(self._stage.token)
            self.waited_s += time.monotonic() - resumed

    def _run_kind(
        self, kind: WorkerKind, orders: Sequence[Order], startup_s: float
    ) -> Iterator[Played]:
        sides = self._stage.sides
        at_once = min(LANES_MAX, len(self._stage.cores) // max(1, kind.nprocs))
        number = max(len(sides), at_once)
        shares = {side: deque(_shares(orders, number)) for side in sides}
        nodeids = [order.nodeid for order in orders]
        lanes = [
            self._lane(side, kind, shares[side], nodeids, startup_s)
            for side in itertools.islice(itertools.cycle(sides), number)
        ]
        watched: dict[str, dict[int, WatchedSide]] = {}
        for one in in_turns(lanes):
            own = watched.setdefault(one.nodeid, {})
            own[one.side] = one
            if len(own) == len(sides):
                runs = tuple(own[side.side].run for side in sides)
                seconds = sum(each.seconds for each in own.values())
                yield Played(one.nodeid, runs, None, 0.0, seconds, at_once=number)

    def _lane(
        self,
        side: Side,
        kind: WorkerKind,
        shares: deque[Share],
        nodeids: Sequence[str],
        startup_s: float,
    ) -> Lane[WatchedSide]:
        """Run one share after the other; yield each test, and what it waits for in between."""
        pair: Pair | None = None
        try:
            while shares:
                for order in shares.popleft():
                    if pair is None:
                        pair = self._start(side, kind, nodeids)
                        yield from pair.collecting(startup_s)
                    begun = time.monotonic()
                    runs = yield from pair.running(order)
                    yield WatchedSide(order.nodeid, side.side, runs[0], time.monotonic() - begun)
                    if not pair.usable or self._may_have_left(runs[0]):
                        pair.end()
                        pair = None
            if pair is not None:
                pair.stop()
        finally:
            if pair is not None:
                pair.end(GOODBYE_S)

    def _start(self, side: Side, kind: WorkerKind, nodeids: Sequence[str]) -> Pair:
        self._workers += 1
        stage = replace(self._stage, sides=(side,))
        rng = random.Random(f"{stage.seed}/watched/{self._workers}")
        return start_pair(stage, kind, nodeids, rng=rng, cores=stage.cores, watched=True)

    def _may_have_left(self, run: SideRun) -> bool:
        """Return whether a test has met a difference while it ran: it may leave something of it
        behind, in a cache for example, so the next one gets a fresh worker.
        """
        return run.state is not State.MET and any(self._same_code.differences([run.ran]))


def watched_runs(stage: Stage) -> WatchedRuns | None:
    """Return what a run begins with; None: it would tell nothing."""
    if stage.same_code is None or stage.same_code.changes.everywhere is not None:
        return None
    return WatchedRuns(stage, stage.same_code)


def _kind(order: Order) -> WorkerKind:
    return order.kind


def _shares(orders: Sequence[Order], lanes: int) -> Iterator[Share]:
    """Yield the tests file by file, those of a large file in as many shares as there are lanes."""
    most = -(-len(orders) // lanes)
    for _, group in itertools.groupby(orders, key=lambda order: order.nodeid.partition("::")[0]):
        own = list(group)
        yield from (own[k : k + most] for k in range(0, len(own), most))
