"""A process that trains: it takes steps piece by piece, and merges after each."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final

from rl_impls.envs.tabular import TabularEnv
from rl_impls.monitor.usage import peak_rss_bytes
from rl_impls.runtimes.balance import blended
from rl_impls.runtimes.board import Board
from rl_impls.runtimes.placement import cap_threads, pin_to
from rl_impls.runtimes.processes import failures_told
from rl_impls.runtimes.replica import Replica, replica_of
from rl_impls.runtimes.runtime import MakeEnv
from rl_impls.tabular.learner import QLearner
from rl_impls.tabular.settings import Settings
from rl_impls.tabular.training import Training

GO: Final = "go"


@dataclass(frozen=True, slots=True)
class Job:
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
    parent: int  # process id


@dataclass(frozen=True, slots=True)
class Report:
    """All pieces of one call are done."""

    training: Training
    peak_rss_bytes: int


def main(job: Job, connection: Connection) -> None:
    """Train whenever told to, until the other end of the connection is closed."""
    with failures_told(connection):
        worker = Worker(job)
        connection.send(Report(Training(0, 0, 0.0), peak_rss_bytes()))
        while connection.recv() == GO:
            connection.send(Report(worker.train(), peak_rss_bytes()))


class Worker:
    """A learner and an environment of its own, compiled and ready."""

    def __init__(self, job: Job) -> None:
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
        if os.getppid() != self._job.parent:
            raise EOFError  # nobody is left to train for
        with board.locked():
            self._replica.merge()
            board.add_progress(piece.steps, piece.episodes)
            # Schedules count what all have done, as they would with a single process.
            self._learner.set_progress(*board.progress())
            return board.take_piece(self._job.number, self._job.steps_per_sync)

    def _tell_speed(self, steps_per_s: float) -> None:
        speeds, number = self._job.board.speeds, self._job.number
        speeds[number] = blended(float(speeds[number]), steps_per_s)
