"""Runs one test for its memory: a fresh process of each side, nothing else in it, not timed."""

import random
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace

from pytest_rlperf.launch.process import end_marked
from pytest_rlperf.measure.memory.curve import Curve, Points
from pytest_rlperf.measure.side import SideRun, State, Turn
from pytest_rlperf.measure.stage import Kind, Stage, start_pair
from pytest_rlperf.model.memory import Probe

GOODBYE_S = 5.0
"""For a session to end in good order, tearing down what its fixtures made."""


@dataclass(frozen=True, slots=True)
class MemoryTask:
    """One test, looked at in one way."""

    nodeid: str
    kind: Kind
    probe: Probe
    deadline_s: float
    curve: bool = False  # sample its course, too


@dataclass(frozen=True, slots=True)
class MemoryPlayed:
    runs: tuple[SideRun, ...]
    seconds: float
    curves: tuple[Points, ...] = ()  # by side


class MemoryRuns:
    """Starts a pair of processes for every task."""

    def __init__(self, stage: Stage) -> None:
        # The reference kernels tell nothing of memory: bytes are compared as they are.
        sides = tuple(side for side in stage.sides if not side.reference)
        self._stage = replace(stage, sides=sides)

    @property
    def paired(self) -> bool:
        return len(self._stage.sides) > 1

    def run(self, number: int, task: MemoryTask, startup_s: float) -> MemoryPlayed:
        """`number` is that of the round: hash seeds are equal in it, and others in the next."""
        if task.kind.nprocs and isinstance(self._stage.launcher, str):
            return MemoryPlayed((SideRun(State.SKIPPED, self._stage.launcher),), 0.0)
        begun = time.monotonic()
        rng = random.Random(f"{self._stage.seed}/memory/{number}/{task.nodeid}")
        turn = Turn(
            nodeid=task.nodeid,
            following=None,
            plan=None,
            cores=(),
            seed=0,
            deadline_s=task.deadline_s,
            probe=task.probe,
        )
        cores = self._stage.cores
        pair = start_pair(
            self._stage, task.kind, [task.nodeid], rng=rng, cores=cores, scattered=False
        )
        try:
            pair.wait_collected(startup_s)
            with ExitStack() as stack:
                pids = pair.pids if task.curve else []
                curves = [stack.enter_context(Curve(pid)) for pid in pids]
                runs = tuple(pair.run(turn))
            pair.stop()
        finally:
            pair.end(GOODBYE_S)
        points = tuple(curve.points for curve in curves)
        return MemoryPlayed(runs, time.monotonic() - begun, points)

    def close(self) -> None:
        end_marked(self._stage.token)
