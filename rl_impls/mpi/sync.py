"""Training in the ranks of an MPI job, which average their tables while they go on learning.

At the end of a period a rank takes what all sent at the end of the one before, then sends what it
learned itself. So a message has a whole period to arrive, and nobody waits for a rank that is late
by less than that.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rl_impls.envs.tabular import TabularEnv
from rl_impls.mpi.alike import NOTHING_DONE, begin_alike, in_slices, larger, most_advanced
from rl_impls.mpi.checkpoint import Checkpoint, snapshot_of
from rl_impls.mpi.compression import DEFAULT, codec_named
from rl_impls.mpi.exchange import Arrived, Exchange, Report
from rl_impls.mpi.in_ranks import Surviving, Traffic
from rl_impls.mpi.pace import Pace
from rl_impls.mpi.replica import Replica, replica_of
from rl_impls.runtimes.runtime import Tick
from rl_impls.tabular import CompiledQLearning
from rl_impls.tabular.training import Training, check_count, check_fit

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm, Request


class MpiSyncRuntime(Surviving):
    """All ranks make one with equal arguments, and call its methods together. They go on from the
    learner of rank 0. After `train` the learners of all ranks hold the same table.

    Where MPI lets ranks go on without one that was killed, they do so from the last exchange that
    any of them has taken, and make the steps again that came after it.
    """

    def __init__(
        self,
        learner: CompiledQLearning,
        env: TabularEnv,
        comm: Intracomm,
        *,
        steps_per_sync: int | None = None,
        compression: str = DEFAULT,
        threads: int | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        check_fit(learner, env.n_states, env.n_actions)
        super().__init__("mpi-sync", comm, threads, steps_per_sync)
        self._learner: Final = learner
        self._env: Final = env
        self._checkpoint: Final = checkpoint
        self._codec: Final = codec_named(compression)
        self._pace = Pace.begin(comm.Get_size(), steps_per_sync)
        self._sync_seconds = 0.0
        self._syncs = self._bytes_sent = 0
        self._progress = begin_alike(comm, learner)
        self._join(comm)
        comm.Barrier()  # who has compiled first would count its waiting as time of the exchange

    def train(self, n_steps: int, tick: Tick | None = None) -> Training:
        check_count("steps", n_steps)
        before = self._progress
        goal = before.steps + n_steps

        def told(n_made: int) -> None:
            if tick is not None:
                tick(n_made - before.steps)

        self._together(lambda: self._train_to(goal, told))
        if self._checkpoint is not None and self._rank == 0:
            self._checkpoint.write(self._snapshot)
        return since(before, self._progress)

    def learner(self) -> CompiledQLearning:
        return self._learner

    def traffic(self) -> Traffic:
        most = self._comm.allreduce(self._sync_seconds, op=larger)
        return Traffic(self._syncs, self._bytes_sent, most, self._pace.period)

    def _train_to(self, goal: int, told: Tick) -> None:
        self._began = time.perf_counter()
        left = goal - self._progress.steps
        while left > 0:
            parts = self._pace.parts(left)
            self._compute(parts[self._rank])
            left -= sum(parts)
            self._take()
            self._send()
            told(goal - left)
        self._take()
        self._replica.settle()

    def _under_way(self) -> list[Request]:
        return self._exchange.requests

    def _go_on_among(self, comm: Intracomm) -> None:
        """From what was agreed on last; some may not have heard of it."""
        root = most_advanced(comm, self._syncs)
        self._replica.settle()
        begin_alike(comm, self._learner, root)
        self._progress, self._syncs, self._bytes_sent, pace = comm.bcast(
            (self._progress, self._syncs, self._bytes_sent, self._pace), root
        )
        self._learner.set_progress(self._progress.steps, self._progress.episodes)
        self._pace = replace(pace, speeds=(0.0,) * comm.Get_size(), lags_s=())
        self._join(comm)

    def _join(self, comm: Intracomm) -> None:
        """With a learner that is alike on all ranks."""
        self._comm = comm
        self._rank, n_ranks = comm.Get_rank(), comm.Get_size()
        self._replica: Replica = replica_of(
            self._learner, self._env, self._codec, self._rank, n_ranks
        )
        self._exchange = Exchange(comm)
        self._own = NOTHING_DONE  # since the last exchange was started
        self._began = self._compute_s = self._sync_s = 0.0

    def _compute(self, n_steps: int) -> None:
        for part in in_slices(n_steps):
            began = time.perf_counter()
            trained = self._replica.train(self._env, part)
            self._own = self._own + trained
            self._compute_s += time.perf_counter() - began
            with self._syncing():
                self._exchange.poll()

    def _take(self) -> None:
        """What all ranks did in the period whose exchange ends here."""
        if self._exchange.under_way:
            with self._syncing():
                arrived = self._exchange.finish()
                self._replica.take(arrived.messages)
            self._count(arrived)

    def _count(self, arrived: Arrived) -> None:
        done = NOTHING_DONE
        for report in arrived.reports:
            done = done + Training(int(report.steps), int(report.episodes), report.reward_sum)
        self._progress = self._progress + done
        # Schedules count what all have done, as far as it is known here.
        known = self._progress + self._own
        self._learner.set_progress(known.steps, known.episodes)
        self._pace = self._pace.after(arrived.reports, self._progress.steps)
        self._syncs += 1
        self._bytes_sent += arrived.n_bytes
        if self._checkpoint is not None and self._rank == 0:
            self._checkpoint.offer(self._snapshot)

    def _send(self) -> None:
        own, sync_s = self._own, self._sync_s
        self._sync_s = 0.0
        with self._syncing():
            message = self._replica.cut()
            elapsed_s = time.perf_counter() - self._began
            report = Report(
                own.steps, own.episodes, own.reward_sum, self._compute_s, elapsed_s, sync_s, 0
            )
            self._exchange.start(report, message)
        self._own, self._compute_s = NOTHING_DONE, 0.0

    def _snapshot(self) -> CompiledQLearning:
        progress = self._progress
        table = self._replica.agreed()
        return snapshot_of(self._learner, table, progress.steps, progress.episodes)

    @contextmanager
    def _syncing(self) -> Iterator[None]:
        """What lies within is time of the exchange."""
        began = time.perf_counter()
        yield
        seconds = time.perf_counter() - began
        self._sync_s += seconds
        self._sync_seconds += seconds


def since(before: Training, after: Training) -> Training:
    return Training(
        after.steps - before.steps,
        after.episodes - before.episodes,
        after.reward_sum - before.reward_sum,
    )
