"""The controller's view of a block's two workers: start them, run tests in lock-step, end them.

The `Stage` that they are started on, which stays the same over a run, is below.
"""

import itertools
import json
import os
import random
import selectors
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_rlperf.environments.environment import Environment
from pytest_rlperf.mpi.launcher import Launcher
from pytest_rlperf.mpi.side import RankedSide, Ranks, start_ranks
from pytest_rlperf.trees.code_changes import SameCode
from pytest_rlperf.wire import (
    SIDES,
    Channel,
    ChannelClosed,
    FromController,
    Go,
    Job,
    Order,
    StandAside,
    Stop,
    WorkerKind,
    plain,
)
from pytest_rlperf.worker import boot
from pytest_rlperf.workers.lanes import Waiting
from pytest_rlperf.workers.process import Process, worker_environment
from pytest_rlperf.workers.side import SideRun, State, WorkerSide

DuetSide = WorkerSide | RankedSide


@dataclass(frozen=True, slots=True)
class WorkerStart:
    """The job, environment and cores that one side is started with."""

    job: Job
    env: Mapping[str, str]
    cores: tuple[int, ...]
    ranks: Ranks | None = None  # None: one process
    python: str = sys.executable


class Pair:
    """The workers of one block. One side only where there is no partner."""

    def __init__(self, starts: Sequence[WorkerStart], folder: Path) -> None:
        self.nodeids = frozenset(starts[0].job.nodeids)
        self._sides: list[DuetSide] = []
        self._over = self._leaving = False
        self._selector = selectors.DefaultSelector()
        ranks = starts[0].ranks.nprocs if starts[0].ranks else 1
        batons = [socket.socketpair() for _ in range(ranks)] if len(starts) == 2 else []
        try:
            for number, start in enumerate(starts):
                own = [pair[number] for pair in batons] if batons else [None] * ranks
                self._sides.append(_start_side(start, own, folder))
        except BaseException:
            self.end()
            raise
        finally:
            for baton in itertools.chain(*batons):
                baton.close()
        for side in self._sides:
            self._selector.register(side.channel, selectors.EVENT_READ, side)

    @property
    def usable(self) -> bool:
        """Return whether this pair can run another test, or need not be started anew: a side that
        could not even collect would not do better a second time.
        """
        return not any(side.broken and side.collected is not None for side in self._sides)

    @property
    def startup_s(self) -> float:
        """Return the seconds from the start of the processes until the tests were collected; 0 as
        long as that is unknown.
        """
        return max(side.startup_s for side in self._sides)

    @property
    def pids(self) -> list[int]:
        """Return the id of each side's first process, which all its others descend from."""
        return [side.process.pid for side in self._sides]

    @property
    def _awaited(self) -> list[int]:
        """Return the descriptors of the connections on which something may arrive."""
        return [side.channel.fileno() for side in self._sides if side.broken is None]

    def collecting(self, seconds: float) -> Waiting[None]:
        """Wait until all sides have collected, or have failed to."""
        until = time.monotonic() + seconds
        while True:
            in_time = self._listen(until)
            waiting = [s for s in self._sides if s.collected is None and s.broken is None]
            if not waiting:
                return
            if in_time:
                yield self._awaited
            else:
                for side in waiting:
                    side.hang(seconds)

    def running(self, order: Order) -> Waiting[list[SideRun]]:
        """Run one test on all sides; return how it ended, in the order of the sides."""
        self._begin(order)
        until = time.monotonic() + order.deadline_s
        while True:
            if not self._listen(until):
                self._give_up(order.deadline_s)
            ended = [side.run for side in self._sides if side.run is not None]
            if len(ended) == len(self._sides):
                return ended
            self._let_go()
            yield self._awaited

    def _begin(self, order: Order) -> None:
        """Let all sides begin with a test."""
        playing = []
        for side in self._sides:
            side.clear()
            if missing := _cannot_run(side, order.nodeid):
                side.run = missing
            else:
                playing.append(side)
        for side in playing:
            side.tell(order)

    def _let_go(self) -> None:
        """Start the slices when all are ready; send one home whose partner cannot play."""
        waiting = [
            side for side in self._sides if side.ready and not side.answered and not side.run
        ]
        if len(waiting) == len(self._sides):
            answer: FromController = Go()
        elif all(side.run is not None for side in self._sides if side not in waiting):
            answer = StandAside()
        else:
            return
        for side in waiting:
            side.answered = True
            side.tell(answer)

    def _give_up(self, seconds: float) -> None:
        """End a test past its deadline; the side that runs is to blame, not one that waits."""
        late = [side for side in self._sides if side.run is None]
        busy = [side for side in late if not side.ready or side.answered] or late
        for side in busy:
            side.hang(seconds)
        for side in late:
            side.run = side.broken = side.run or SideRun(State.RAN)

    def _listen(self, until: float) -> bool:
        """Take what has arrived; return False when the time is up."""
        heard = set()
        for key, _ in self._selector.select(0):
            side: DuetSide = key.data
            heard.add(side)
            try:
                side.listen()
            except (ChannelClosed, ValueError):
                self._lose(side)
        for side in self._sides:
            # Its children may hold the connection open: silence of a process that ended is final.
            if side not in heard and side.broken is None and side.process.ended:
                self._lose(side)
        return time.monotonic() < until

    def _lose(self, side: DuetSide) -> None:
        self._selector.unregister(side.channel)
        if side.broken is None:
            side.crash()

    def stop(self) -> None:
        """Let the sessions end in good order; `end` waits for them."""
        self._leaving = True
        for side in self._sides:
            if side.broken is None:
                side.tell(Stop())

    def end(self, grace_s: float = 0.0) -> None:
        """End all processes, whatever they are doing; only those told to stop get time for it.
        A second call does nothing.
        """
        if self._over:
            return
        for side in self._sides:
            side.process.end(grace_s if self._leaving and side.broken is None else 0.0)
            side.channel.close()
        self._selector.close()
        self._over = True


def _cannot_run(side: DuetSide, nodeid: str) -> SideRun | None:
    if side.broken is not None:
        return side.broken
    if side.collected is not None and nodeid in side.collected:
        return None
    for collector, text in side.collect_errors.items():
        if nodeid.startswith(collector):
            return SideRun(State.UNCOLLECTED, text)
    return SideRun(State.UNCOLLECTED, f"{nodeid} was not collected on the {side.name} side")


def _start_side(
    start: WorkerStart, batons: Sequence[socket.socket | None], folder: Path
) -> DuetSide:
    if start.ranks is not None:
        return start_ranks(start.ranks, start.job, start.env, start.cores, batons, folder)
    return _start_worker(start, batons[0], folder)


def _start_worker(start: WorkerStart, baton: socket.socket | None, folder: Path) -> WorkerSide:
    """Start a single process. Sockets are made here and closed here: the child has its own copies
    after the start.
    """
    ours, theirs = socket.socketpair()
    baton_fd = None if baton is None else baton.fileno()
    job = replace(start.job, channel_fd=theirs.fileno(), baton_fd=baton_fd)
    name = SIDES[job.side]
    job_file = folder / f"{name}-{theirs.fileno()}-{time.monotonic_ns()}.json"
    job_file.write_text(json.dumps(plain(job)), encoding="utf-8")
    fds = [theirs.fileno()] + ([] if baton_fd is None else [baton_fd])
    argv = [start.python, "-P", os.fspath(boot.__file__), str(job_file)]
    process = Process(
        argv,
        env=start.env,
        cwd=job.cwd,
        cores=start.cores,
        fds=fds,
        log=job_file.with_suffix(".log"),
    )
    theirs.close()
    return WorkerSide(name, process, Channel(ours))


# -- what stays the same over a run, and the workers that are started on it ----------------------

PADDING_MAX = 4096
SEED_MAX = 2**32


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the duet: where its code lies, and what it plays."""

    side: int
    root: Path  # pytest's
    cwd: Path
    tree: Path  # top level of the checkout
    reference: bool = False  # plays the reference kernels
    slowdown: float = 0.0  # share by which its slices are made longer
    environment: Environment | None = None  # None: that of this process


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything that stays the same over the blocks of a run."""

    sides: tuple[Side, ...]
    home: Path  # top level of the tree that this process imports from
    import_roots: tuple[str, ...]
    sys_path: tuple[str, ...]
    pytest_args: tuple[str, ...]
    inipath: str | None  # relative to the root
    options: Mapping[str, Any]
    caches: Path
    folder: Path
    cores: tuple[int, ...]  # empty: this platform cannot pin
    seed: int
    token: str  # marks every process of the run, those that tests start included
    launcher: Launcher | str | None = None  # of ranks, or why there is none; None: no test asks
    disturbed: bool = False  # disturb two of three blocks on purpose (`worker.disturbance`)
    same_code: SameCode | None = None  # tells what need not be measured; None: nobody asks
    lanes: int = 1  # blocks that are played at once, each on a core of its own

    def path_of(self, side: Side) -> tuple[str, ...]:
        """Return what the workers of a side import from."""
        return self.sys_path if side.environment is None else side.environment.sys_path


def start_pair(
    stage: Stage,
    kind: WorkerKind,
    nodeids: Sequence[str],
    *,
    rng: random.Random,
    cores: tuple[int, ...],
    scattered: bool = True,
    watched: bool = False,
) -> Pair:
    """Start a fresh process of each side; `scattered`: their memory is laid out by chance;
    `watched`: they look which changes their tests meet.
    """
    hash_seed = rng.randrange(SEED_MAX)
    starts = []
    for side in stage.sides:
        layout_seed = rng.randrange(SEED_MAX)
        job = _job(stage, side, nodeids, layout_seed if scattered else None)
        if watched and stage.same_code is not None:
            job = replace(job, watched=stage.same_code.watched)
        env = worker_environment(
            os.environ,
            threads=kind.threads,
            hash_seed=hash_seed,
            padding=rng.randrange(PADDING_MAX) if scattered else 0,
            caches=stage.caches,
            token=stage.token,
            import_folders=[str(side.tree / root) for root in stage.import_roots],
            environment=side.environment,
        )
        python = sys.executable if side.environment is None else side.environment.executable
        starts.append(WorkerStart(job, env, cores, _ranks(stage, kind), python))
    return Pair(starts, stage.folder)


def _ranks(stage: Stage, kind: WorkerKind) -> Ranks | None:
    launcher = stage.launcher
    if not kind.nprocs or not isinstance(launcher, Launcher):
        return None
    return Ranks(kind.nprocs, launcher)


def _job(stage: Stage, side: Side, nodeids: Sequence[str], layout_seed: int | None) -> Job:
    files = dict.fromkeys(str(side.root / nodeid.split("::")[0]) for nodeid in nodeids)
    ini = ("-c", str(side.root / stage.inipath)) if stage.inipath else ()
    return Job(
        side=side.side,
        root=str(side.root),
        cwd=str(side.cwd),
        tree=str(side.tree),
        head_tree=str(stage.home),
        import_roots=stage.import_roots,
        sys_path=stage.path_of(side),
        pytest_args=(*stage.pytest_args, "--rootdir", str(side.root), *ini, *files),
        options=stage.options,
        nodeids=tuple(nodeids),
        channel_fd=-1,  # known when the process starts
        baton_fd=None,
        layout_seed=layout_seed,
        reference=side.reference,
        slowdown=side.slowdown,
    )
