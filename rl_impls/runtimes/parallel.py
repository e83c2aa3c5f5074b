"""Training in several processes, each with its own copy of the table, merged in shared memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Final, Self

import numpy as np

from rl_impls.envs.tabular import TabularEnv
from rl_impls.errors import SettingError
from rl_impls.runtimes.machine import (
    cap_threads,
    cores_for,
    default_processes,
    peak_rss_bytes,
    pin_to,
)
from rl_impls.runtimes.processes import Member, end, failures_told, interrupts_held_back, start
from rl_impls.runtimes.run import Facts, MakeEnv, Tick
from rl_impls.runtimes.shared_table import Board, Replica, blended, replica_of
from rl_impls.tabular.learner import QLearner, Settings
from rl_impls.tabular.training import Training, check_count

GO: Final = "go"


@dataclass(frozen=True, slots=True)
class WorkerJob:
    number: int
    board: Board
    kind: type[QLearner]
    settings: Settings
    learner_seed: int | None
    env_seed: int | None
    make_env: MakeEnv
    steps_per_sync: int
    cores: tuple[int, ...]  # to be pinned to
    threads: int


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """The work of one call, when all its pieces are done."""

    training: Training
    peak_rss_bytes: int


def main(job: WorkerJob, connection: Connection) -> None:
    """Train whenever told to, until the other end of the connection is closed."""
    with failures_told(connection):
        worker = Worker(job)
        connection.send(WorkerReport(Training(0, 0, 0.0), peak_rss_bytes()))
        while connection.recv() == GO:
            connection.send(WorkerReport(worker.train(), peak_rss_bytes()))


class Worker:
    """A learner and an environment of its own, compiled and ready."""

    def __init__(self, job: WorkerJob) -> None:
        pin_to(*job.cores)
        self._threads: Final = cap_threads(job.threads)
        self._job: Final = job
        board = job.board
        self._env: Final[TabularEnv] = job.make_env(seed=job.env_seed)
        self._learner: Final = job.kind(
            *board.q.shape, settings=job.settings, seed=job.learner_seed
        )
        self._replica: Final[Replica] = replica_of(self._learner, board)
        self._replica.prepare(self._env)

    def train(self) -> Training:
        done = piece = Training(0, 0, 0.0)
        while n_steps := self._merge_and_take(piece):
            begin = time.perf_counter()
            piece = self._replica.train(self._env, n_steps)
            self._tell_speed(n_steps / (time.perf_counter() - begin))
            done = done + piece
        return done

    def _merge_and_take(self, piece: Training) -> int:
        board = self._job.board
        with board.locked():
            self._replica.merge()
            board.add_progress(piece.steps, piece.episodes)
            # Schedules count what all have done, as they would with a single process.
            self._learner.set_progress(*board.progress())
            return board.take_piece(self._job.number, self._job.steps_per_sync)

    def _tell_speed(self, steps_per_s: float) -> None:
        speeds, number = self._job.board.speeds, self._job.number
        speeds[number] = blended(float(speeds[number]), steps_per_s)


STEPS_PER_SYNC: Final = 1_000
# Compiled code makes a thousand steps in 30 microseconds, and a merge takes half a millisecond.
STEPS_PER_SYNC_COMPILED: Final = 2_000_000
TICK_S: Final = 0.1


class ParallelRuntime:
    """`with ParallelRuntime(learner, make_env) as runtime:` starts the processes and ends them.

    They go on from the learner's table, with learners of its class and settings. The learner takes
    part in nothing itself: it has the merged table after `learner()` and after the `with` block,
    also when that is left by an error.
    """

    def __init__(
        self,
        learner: QLearner,
        make_env: MakeEnv,
        *,
        processes: int | None = None,
        steps_per_sync: int | None = None,
        pin: bool = False,
        threads: int = 1,
        seed: int | None = None,
    ) -> None:
        n = default_processes() if processes is None else processes
        if steps_per_sync is None:
            is_compiled = learner.name == "compiled"
            steps_per_sync = STEPS_PER_SYNC_COMPILED if is_compiled else STEPS_PER_SYNC
        _check_positive(processes=n, steps_per_sync=steps_per_sync, threads=threads)
        self.facts: Final = Facts(
            "parallel", n, steps_per_sync, cores_for(n) if pin else (), threads
        )
        self._learner: Final = learner
        self._make_env: Final = make_env
        self._seed: Final = seed
        self._board: Final = Board(learner.n_states, learner.n_actions, n)
        self._board.q[:] = learner.table()
        self._board.set_progress(learner.n_steps, learner.n_episodes)
        self._members: Final[list[Member]] = []
        self._peaks_bytes: Final[dict[str, int]] = {}

    def __enter__(self) -> Self:
        try:
            with interrupts_held_back():
                for job in self._jobs():
                    self._members.append(start(f"worker {job.number}", main, job))
            self._gather(None)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def train(self, n_steps: int, tick: Tick | None = None) -> Training:
        check_count("steps", n_steps)
        if not self._members:
            raise SettingError("no process is running: train inside `with ParallelRuntime(...)`.")
        begin = self._board.progress()[0]  # before anybody can have begun
        self._board.ask_for(n_steps)
        for member in self._members:
            member.tell(GO)
        return self._gather(
            None if tick is None else lambda: tick(self._board.progress()[0] - begin)
        )

    def learner(self) -> QLearner:
        with self._board.locked():
            self._learner.set_table(self._board.q)
            self._learner.set_progress(*self._board.progress())
        return self._learner

    def peak_rss_bytes(self) -> int:
        return peak_rss_bytes() + sum(self._peaks_bytes.values())

    def close(self) -> None:
        """End the processes; the learner keeps what they have learned."""
        self._board.stop()
        end(self._members)
        self._members.clear()
        self._peaks_bytes.clear()
        self.learner()

    def _jobs(self) -> Iterator[WorkerJob]:
        n, cores = self.facts.processes, self.facts.cores
        seeds = np.random.SeedSequence(self._seed).generate_state(2 * n, np.uint64).tolist()
        for number in range(n):
            yield WorkerJob(
                number=number,
                board=self._board,
                kind=type(self._learner),
                settings=self._learner.settings,
                learner_seed=seeds[2 * number],
                env_seed=seeds[2 * number + 1] >> 33,  # Gymnasium takes no larger ones everywhere
                make_env=self._make_env,
                steps_per_sync=self.facts.steps_per_sync or STEPS_PER_SYNC,
                cores=cores[number : number + 1],
                threads=self.facts.threads or 1,
            )

    def _gather(self, tick: Callable[[], None] | None) -> Training:
        """Return what all workers did, when each has said so. A dead one's pipe is at its end."""
        busy = {member.pipe: member for member in self._members}
        done = Training(0, 0, 0.0)
        while busy:
            for pipe in connection.wait(list(busy), None if tick is None else TICK_S):
                assert isinstance(pipe, Connection)
                done = done + self._report_of(busy.pop(pipe)).training
            if tick is not None:
                tick()
        return done

    def _report_of(self, member: Member) -> WorkerReport:
        report = member.answer()
        assert isinstance(report, WorkerReport)
        self._peaks_bytes[member.name] = report.peak_rss_bytes
        return report


def _check_positive(**numbers: int) -> None:
    for name, number in numbers.items():
        if number < 1:
            raise SettingError(f"{name} is at least 1, not {number}.")
