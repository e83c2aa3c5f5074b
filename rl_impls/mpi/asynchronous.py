"""Training in the ranks of an MPI job that share a table in shards, and do not wait for each other.

What the parallel runtime does in shared memory: a rank learns on a copy, merges it shard by shard
when it has made its piece of the steps, and takes the next piece from a counter.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np

from rl_impls.envs.tabular import TabularEnv
from rl_impls.errors import SettingError
from rl_impls.mpi.alike import NOTHING_DONE, begin_alike, in_slices, larger
from rl_impls.mpi.checkpoint import Checkpoint, snapshot_of
from rl_impls.mpi.crew import ending_with_a_death
from rl_impls.mpi.in_ranks import InRanks, Traffic
from rl_impls.mpi.shards import Shards
from rl_impls.runtimes.merge_kernel import merge_table
from rl_impls.runtimes.parallel import STEPS_PER_SYNC_COMPILED
from rl_impls.runtimes.replica import COMPILED_STEPS_PER_VISIT
from rl_impls.runtimes.runtime import Tick
from rl_impls.tabular import CompiledQLearning
from rl_impls.tabular.training import Training, check_count, check_fit

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm


class MpiAsyncRuntime(InRanks):
    """All ranks make one with equal arguments, and call its methods together. They go on from the
    learner of rank 0. After `train` the learners of all ranks hold the same table."""

    def __init__(
        self,
        learner: CompiledQLearning,
        env: TabularEnv,
        comm: Intracomm,
        *,
        steps_per_sync: int = STEPS_PER_SYNC_COMPILED,
        threads: int | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        check_fit(learner, env.n_states, env.n_actions)
        if steps_per_sync < 1:
            raise SettingError(f"steps_per_sync is at least 1, not {steps_per_sync}.")
        super().__init__("mpi-async", comm, threads, steps_per_sync)
        self._steps_per_sync: Final = steps_per_sync
        self._learner: Final = learner
        self._env: Final = env
        self._checkpoint: Final = checkpoint if comm.Get_rank() == 0 else None
        self._merges = 0
        self._sync_seconds = 0.0
        before = begin_alike(comm, learner)
        self._visits: Final = np.zeros(learner.q.shape, np.uint32)
        self._compute(0)
        self._q: Final = learner.q.reshape(-1)
        # Only now: the training closed entries of illegal actions, which is not learning.
        self._q_seen: Final = self._q.copy()
        self._seen: Final = np.zeros(len(self._q), np.uint32)
        self._shards: Final = Shards(comm, learner.table())
        self._merge(before if comm.Get_rank() == 0 else NOTHING_DONE)  # compiles
        comm.Barrier()

    def train(self, n_steps: int, tick: Tick | None = None) -> Training:
        check_count("steps", n_steps)
        with ending_with_a_death(self._comm):  # a rank's shard is lost with it
            return self._train(n_steps, tick)

    def _train(self, n_steps: int, tick: Tick | None) -> Training:
        begin = self._shards.ask_for()
        own = NOTHING_DONE
        while piece := self._shards.take_piece(n_steps, self._steps_per_sync):
            trained = self._compute(piece)
            self._merge(trained)
            own = own + trained
            if self._checkpoint is not None:
                self._checkpoint.offer(self._snapshot)
            if tick is not None:
                tick(self._learner.n_steps - begin)
        self._comm.Barrier()
        self._merge(NOTHING_DONE)  # takes what others learned last
        if tick is not None:
            tick(n_steps)
        if self._checkpoint is not None:
            self._checkpoint.write(self._snapshot)
        done: Training = self._comm.allreduce(own)
        return done

    def learner(self) -> CompiledQLearning:
        return self._learner

    def traffic(self) -> Traffic:
        merges = self._comm.allreduce(self._merges)
        n_bytes = self._comm.allreduce(self._shards.n_bytes)
        most = self._comm.allreduce(self._sync_seconds, op=larger)
        return Traffic(merges, n_bytes, most, self._steps_per_sync)

    def close(self) -> None:
        """Give the shards back; to be called on all ranks."""
        self._shards.close()

    def _compute(self, n_steps: int) -> Training:
        n_counted = n_steps // COMPILED_STEPS_PER_VISIT
        done = self._learner.train(self._env, n_counted, visits=self._visits)
        for part in in_slices(n_steps - n_counted):
            done = done + self._learner.train(self._env, part)
            # Some networks serve a rank's window only while that rank calls MPI.
            self._comm.Iprobe()
        return done

    def _merge(self, trained: Training) -> None:
        began = time.perf_counter()
        visits = self._visits.reshape(-1)
        for pairs, q, n in self._shards.merging():
            merge_table(
                q, n, self._seen[pairs], self._q[pairs], self._q_seen[pairs], visits[pairs],
                COMPILED_STEPS_PER_VISIT,
            )  # fmt: skip
        # Schedules count what all have done, as they would with a single process.
        self._learner.set_progress(*self._shards.add_progress(trained.steps, trained.episodes))
        self._merges += 1
        self._sync_seconds += time.perf_counter() - began

    def _snapshot(self) -> CompiledQLearning:
        learner = self._learner
        return snapshot_of(learner, learner.table(), learner.n_steps, learner.n_episodes)
