"""Trainings in fresh workers, on all cores at once: nothing of it is judged by time.

Both sides are started alike, in every run with the same hash seed and with one thread for their
libraries, so that what runs the same code learns the same, bit for bit, today and when it was
stored. A training gets its seed from the order, and a worker trains one seed after the other; one
that has failed is started anew.
"""

import random
import time
from collections.abc import Collection, Generator
from dataclasses import dataclass, replace
from typing import Protocol

from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.model.learning import Training
from pytest_rlperf.workers.lanes import LANES_MAX, Item, Lane, Waiting, in_turns
from pytest_rlperf.workers.pair import Pair, Stage, start_pair
from pytest_rlperf.workers.process import end_marked
from pytest_rlperf.workers.side import SideRun, State

STARTUP_GRACE_S = 5.0
"""A training gets so much more than its timeout, for fixtures and what surrounds it."""
FAILED = frozenset({State.FAILED, State.CRASHED, State.HUNG})
"""Ends of a test that a training may have led to."""


@dataclass(frozen=True, slots=True)
class SeedTask:
    """One training to be run."""

    side: int
    seed: int


@dataclass(frozen=True, slots=True)
class Trained:
    """One training that is over; without a result where the test itself is to blame."""

    task: SeedTask
    run: SideRun
    training: Training | None


class Seeds(Protocol):
    """The seeds of a test that are still to be trained."""

    @property
    def open(self) -> bool: ...

    def next_task(self, own: Collection[int]) -> SeedTask | None:
        """Return the next training, rather one for a side that the asker has a worker of; None:
        there is none at the moment.
        """


class LearningRuns:
    """Runs the trainings of one test after those of another."""

    def __init__(self, stage: Stage) -> None:
        # A mark of their own: workers for the timing may be waiting meanwhile.
        self._stage = replace(stage, token=f"{stage.token}-learning")

    @property
    def at_once(self) -> int:
        return max(1, min(LANES_MAX, len(self._stage.cores)))

    def run(
        self, benchmark: Benchmark, seeds: Seeds, timeout_s: float, until: float
    ) -> Generator[Trained, None, None]:
        """Train until no more is wanted, or until a moment of the monotonic clock; yield each
        training as it ends. One that is cut off by the end of the time is dropped.
        """
        threads = max(1, benchmark.spec.threads)
        lanes = [
            self._lane(benchmark, seeds, timeout_s, until, self._cores(lane, threads))
            for lane in range(max(1, self.at_once // threads))
        ]
        try:
            yield from in_turns(lanes)
        finally:
            end_marked(self._stage.token)

    def _cores(self, lane: int, threads: int) -> tuple[int, ...]:
        return self._stage.cores[lane * threads : (lane + 1) * threads] or self._stage.cores

    def _lane(
        self,
        benchmark: Benchmark,
        seeds: Seeds,
        timeout_s: float,
        until: float,
        cores: tuple[int, ...],
    ) -> Lane[Trained]:
        pairs: dict[int, Pair] = {}
        try:
            while seeds.open and time.monotonic() < until:
                task = seeds.next_task(pairs.keys())
                if task is None:
                    yield []
                    continue
                pair = pairs.get(task.side)
                if pair is None:
                    pair = pairs[task.side] = self._start(benchmark, task.side, cores)
                    yield from _before(until, pair.collecting(until - time.monotonic()))
                order = replace(
                    benchmark.order(timeout_s + STARTUP_GRACE_S), training=task.seed, cores=cores
                )
                runs = yield from _before(until, pair.running(order))
                if runs is None:
                    return
                began = pair.startup_s > 0
                yield Trained(task, runs[0], _training(task, runs[0]) if began else None)
                if not pair.usable or runs[0].state in FAILED:
                    pairs.pop(task.side).end()
        finally:
            for pair in pairs.values():
                pair.end()

    def _start(self, benchmark: Benchmark, side: int, cores: tuple[int, ...]) -> Pair:
        sides = tuple(each for each in self._stage.sides if each.side == side)
        # The same for all workers of a test in all runs: what is drawn decides the hash seed.
        rng = random.Random(f"learning/{benchmark.nodeid}")
        return start_pair(
            replace(self._stage, sides=sides),
            benchmark.order(0.0).kind,
            [benchmark.nodeid],
            rng=rng,
            cores=cores,
            scattered=False,
        )


def _before(until: float, waiting: Waiting[Item]) -> Waiting[Item | None]:
    """Wait for something until a moment; None: it has come."""
    while time.monotonic() < until:
        try:
            yield next(waiting)
        except StopIteration as ended:
            result: Item = ended.value
            return result
    waiting.close()
    return None


def _training(task: SeedTask, run: SideRun) -> Training | None:
    """Return what a run says of its training; None: it never came to train."""
    if isinstance(run.report, Training):
        return run.report
    if run.state in (State.CRASHED, State.HUNG):
        return Training(task.seed, failure=run.text)
    return None
