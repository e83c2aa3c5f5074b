"""Runs one test for its memory: a fresh process of each side, nothing else in it, not timed.

Beside the first of them memory-profiler samples the course of the memory over time, for a picture.
Samples miss what is short, so nothing is judged by them; without the package there is no curve.
"""

import random
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Self

import psutil

from pytest_rlperf.trees.code_changes import SameCode
from pytest_rlperf.wire import Order
from pytest_rlperf.workers.lanes import waited_for
from pytest_rlperf.workers.pair import Stage, start_pair
from pytest_rlperf.workers.process import end_marked
from pytest_rlperf.workers.side import SideRun, State

INTERVAL_S = 0.01
STRETCH_S = 0.1
"""The package samples for a fixed time; after each stretch this one is asked whether to go on."""
MIB = 2**20

Points = list[tuple[float, float]]
"""Seconds since the beginning, and bytes."""


class MemoryCurve:
    """Samples a process and its descendants as long as the context lasts."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.points: Points = []

    def __enter__(self) -> Self:
        if find_spec("memory_profiler") is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _sample(self) -> None:
        from memory_profiler import memory_usage

        begun = time.time()
        try:
            while not self._over.is_set():
                found = memory_usage(
                    self._pid,
                    interval=INTERVAL_S,
                    timeout=STRETCH_S,
                    timestamps=True,
                    include_children=True,
                )
                self.points += [(round(at - begun, 3), size * MIB) for size, at in found]
        except psutil.Error:  # it ended
            return


GOODBYE_S = 5.0
"""For a session to end in good order, tearing down what its fixtures made."""


@dataclass(frozen=True, slots=True)
class MemoryPlayed:
    """One test, as all sides ran it for its memory."""

    runs: tuple[SideRun, ...]
    seconds: float
    curves: tuple[Points, ...] = ()  # by side


class MemoryRuns:
    """Starts a pair of processes for every order."""

    def __init__(self, stage: Stage) -> None:
        # The reference kernels tell nothing of memory: bytes are compared as they are.
        sides = tuple(side for side in stage.sides if not side.reference)
        # A mark of their own: workers for the timing may be waiting meanwhile.
        self._stage = replace(stage, sides=sides, token=f"{stage.token}-memory")

    @property
    def same_code(self) -> SameCode | None:
        return self._stage.same_code

    @property
    def paired(self) -> bool:
        return len(self._stage.sides) > 1

    def run(self, number: int, order: Order, startup_s: float, scout: bool = False) -> MemoryPlayed:
        """Run one test on all sides. `number` is that of the round: hash seeds are equal in it, and
        others in the next. `scout`: sample the course of its memory, and look what code it runs.
        """
        if order.nprocs and isinstance(self._stage.launcher, str):
            return MemoryPlayed((SideRun(State.SKIPPED, self._stage.launcher),), 0.0)
        begun = time.monotonic()
        rng = random.Random(f"{self._stage.seed}/memory/{number}/{order.nodeid}")
        cores = self._stage.cores
        pair = start_pair(
            self._stage,
            order.kind,
            [order.nodeid],
            rng=rng,
            cores=cores,
            scattered=False,
            watched=scout,
        )
        try:
            waited_for(pair.collecting(startup_s))
            with ExitStack() as stack:
                pids = pair.pids if scout else []
                curves = [stack.enter_context(MemoryCurve(pid)) for pid in pids]
                runs = tuple(waited_for(pair.running(order)))
            pair.stop()
        finally:
            pair.end(GOODBYE_S)
        points = tuple(curve.points for curve in curves)
        return MemoryPlayed(runs, time.monotonic() - begun, points)

    def close(self) -> None:
        end_marked(self._stage.token)
