"""Training in ranks that average their tables while they go on learning.

At the end of a period a rank takes what all sent at the end of the one before, then sends what it
learned itself. So a message has a whole period to arrive, and nobody waits for a rank that is late
by less than that.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

from rl_impls.envs.tabular import TabularEnv
from rl_impls.errors import SettingError
from rl_impls.runtimes.mpi.messages import DEFAULT, Arrived, Exchange, RankReport, codec_named
from rl_impls.runtimes.mpi.replica import MessagingReplica, replica_of
from rl_impls.runtimes.mpi.runtime import (
    NOTHING_DONE,
    Checkpoint,
    Surviving,
    Traffic,
    begin_alike,
    in_slices,
    larger,
    most_advanced,
    snapshot_of,
)
from rl_impls.runtimes.run import Tick
from rl_impls.runtimes.shared_table import blended, shares
from rl_impls.tabular import CompiledQLearning
from rl_impls.tabular.training import Training, check_count, check_fit

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm, Request

# How many steps each rank makes until the next exchange. All ranks know the same, and so conclude
# the same.


# Steps are handed out in batches.
BATCH: Final = 64
FIRST_PERIOD: Final = 256 * BATCH
LONGEST_PERIOD: Final = 65_536 * BATCH
# The part of a period that an exchange may take.
SYNC_PART: Final = 0.01
# The part of what all have learned so far that they may learn apart: early on ranks have most to
# tell each other.
NEW_PART: Final = 1 / 8
# The last periods are shorter, down to this part of a whole one: nobody computes while the last
# messages are awaited.
LAST_PART: Final = 1 / 4
# Of the time by which a rank is late, so much is taken off its next part. Half, since the news is
# two periods old: the whole would be taken off twice.
CATCH_UP: Final = 0.5


@dataclass(frozen=True, slots=True)
class Pace:
    """The steps until the next exchange. A chosen period stays, and is the same for all ranks:
    equal seeds then learn equal tables."""

    period: int  # steps of a rank, on average
    speeds: tuple[float, ...]  # of each rank; 0: not known yet
    is_chosen: bool
    lags_s: tuple[float, ...] = ()  # by which each rank was behind the first one; none known yet

    @classmethod
    def begin(cls, n_ranks: int, steps_per_sync: int | None) -> Self:
        if steps_per_sync is not None and steps_per_sync < 1:
            raise SettingError(f"steps_per_sync is at least 1, not {steps_per_sync}.")
        if steps_per_sync is not None:
            return cls(in_batches(steps_per_sync), (0.0,) * n_ranks, is_chosen=True)
        # A rank that is alone has nobody to tell anything, soon or late.
        period = LONGEST_PERIOD if n_ranks == 1 else FIRST_PERIOD
        return cls(period, (0.0,) * n_ranks, is_chosen=n_ranks == 1)

    def parts(self, left: int) -> list[int]:
        """Return how many of the `left` steps each rank makes next."""
        total = min(left, self.period * len(self.speeds))
        if not self.is_chosen:
            total = min(total, max(left // 2, int(LAST_PART * self.period * len(self.speeds))))
        weights = catching_up(total, self.speeds, self.lags_s)
        parts = [BATCH * batches for batches in shares(total // BATCH, weights)]
        parts[-1] += total % BATCH
        return parts

    def after(self, reports: Sequence[RankReport], n_steps: int) -> Self:
        """Return the pace when the ranks have reported, and made `n_steps` steps in all."""
        if self.is_chosen:
            return self
        speeds = tuple(
            blended(before, report.steps / report.compute_s) if report.compute_s > 0 else before
            for before, report in zip(self.speeds, reports, strict=True)
        )
        most = max(FIRST_PERIOD, int(NEW_PART * n_steps / len(speeds)))
        period = min(most, next_period(self.period, speeds, reports))
        first_s = min(report.elapsed_s for report in reports)
        lags_s = tuple(report.elapsed_s - first_s for report in reports)
        return replace(self, period=in_batches(period), speeds=speeds, lags_s=lags_s)


def catching_up(n_steps: int, speeds: Sequence[float], lags_s: Sequence[float]) -> Sequence[float]:
    """Return the proportion in which ranks share the steps, so that who is behind comes closer to
    the rest."""
    if not lags_s or min(speeds) < 1.0:  # not known yet: nobody makes less than a step a second
        return speeds
    late_s = [CATCH_UP * lag_s for lag_s in lags_s]
    lost = sum(speed * late for speed, late in zip(speeds, late_s, strict=True))
    whole_s = (n_steps + lost) / sum(speeds)  # that a rank computes which is not late
    return [
        speed * max(whole_s - late, whole_s / 100)
        for speed, late in zip(speeds, late_s, strict=True)
    ]


def next_period(period: int, speeds: Sequence[float], reports: Sequence[RankReport]) -> int:
    """Return a period so long that the exchange takes its part of it, but at most doubled or
    halved.

    The rank that spends least on the exchange waits for nobody: the others' time would grow with
    the period.
    """
    sync_s = min(report.sync_s for report in reports)
    if sync_s <= 0:  # the first exchange has none before it
        return period
    wanted = sync_s / SYNC_PART * sum(speeds) / len(speeds)
    bounded = min(max(wanted, period / 2), period * 2, LONGEST_PERIOD)
    return int(bounded)


def in_batches(n_steps: int) -> int:
    """Round up to whole batches."""
    return -(-n_steps // BATCH) * BATCH


class MpiSyncRuntime(Surviving):
    """Trains tables that ranks average. All ranks make one with equal arguments, and call its
    methods together. They go on from the learner of rank 0. After `train` the learners of all ranks
    hold the same table.

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
        """Go on from what was agreed on last; some may not have heard of it."""
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
        """Join these ranks with a learner that is alike on all."""
        self._comm = comm
        self._rank, n_ranks = comm.Get_rank(), comm.Get_size()
        self._replica: MessagingReplica = replica_of(
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
        """Take in what all ranks did in the period whose exchange ends here."""
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
            report = RankReport(
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
        """Count what lies within as time of the exchange."""
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
