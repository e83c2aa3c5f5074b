"""Training in ranks that share a table in shards, and do not wait for each other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.tabular import TabularEnv
from rl_impls.errors import SettingError
from rl_impls.runtimes.mpi.runtime import (
    NOTHING_DONE,
    Checkpoint,
    InRanks,
    Traffic,
    begin_alike,
    in_slices,
    larger,
    snapshot_of,
)
from rl_impls.runtimes.mpi.world import ending_with_a_death, library
from rl_impls.runtimes.parallel import STEPS_PER_SYNC_COMPILED
from rl_impls.runtimes.run import Tick
from rl_impls.runtimes.shared_table import COMPILED_STEPS_PER_VISIT, next_piece
from rl_impls.tabular import CompiledQLearning
from rl_impls.tabular.kernels import merge_table
from rl_impls.tabular.training import Training, check_count, check_fit

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

# The merged table in shards, one at each rank, in memory that every rank reads and writes itself.
#
# The windows stay open from the first to the last moment (`Lock_all`), and an operation is done
# when it is flushed: locks of MPI, one for each operation, took two hundred milliseconds with
# MPICH. A shard has a word of its own that says whether somebody is merging there.


# The words before the table of each shard; all but the first are used at rank 0 only.
_BUSY, _TAKEN, _STEPS, _EPISODES, _N_WORDS = range(5)
_WORD_BYTES: Final = 8
_HEAD_BYTES: Final = _WORD_BYTES * _N_WORDS
_PAIR_BYTES: Final = 8  # a value and a count


class Shard(NamedTuple):
    """A copy of one; what is changed here goes back when its block is left."""

    pairs: slice  # of the flat table
    q: NDArray[np.float32]
    n: NDArray[np.uint32]


class Shards:
    """The board of processes that share no memory. Ranks make and close it together."""

    def __init__(self, comm: Intracomm, table: NDArray[np.float32]) -> None:
        self._comm: Final = comm
        self._rank, self._n_ranks = comm.Get_rank(), comm.Get_size()
        self.n_bytes = 0  # that went from or to other ranks
        self._edges: Final = [table.size * i // self._n_ranks for i in range(self._n_ranks + 1)]
        own = slice(*self._edges[self._rank : self._rank + 2])
        buffer = np.zeros(_HEAD_BYTES + _PAIR_BYTES * (own.stop - own.start), np.uint8)
        q = buffer[_HEAD_BYTES:].view(np.float32)
        q[: own.stop - own.start] = table.reshape(-1)[own]
        self._window: Final = library().Win.Allocate(len(buffer), 1, comm=comm)
        self._window.Lock_all()
        self._window.Put(buffer, self._rank, 0)
        self._window.Flush(self._rank)
        comm.Barrier()

    def close(self) -> None:
        self._window.Unlock_all()
        self._window.Free()

    def merging(self) -> Iterator[Shard]:
        """Yield every shard, one's own first, so that ranks do not queue for the same."""
        for i in range(self._n_ranks):
            owner = (self._rank + i) % self._n_ranks
            with self._claimed(owner):
                yield from self._copied(owner)

    def ask_for(self) -> int:
        """Hand out the next steps from the first on, and return how many were made before."""
        self._comm.Barrier()
        if self._rank == 0:
            self._add(0, _TAKEN, -self._add(0, _TAKEN, 0))
        made = self._add(0, _STEPS, 0)
        self._comm.Barrier()
        return made

    def take_piece(self, n_steps: int, steps_per_sync: int) -> int:
        """Return how many of all `n_steps` this rank does next; 0 when none are left."""
        left = n_steps - self._add(0, _TAKEN, 0)
        if left <= 0:
            return 0
        piece = next_piece(left, [0.0] * self._n_ranks, self._rank, steps_per_sync)
        before = self._add(0, _TAKEN, piece)  # others may have taken some meanwhile
        return max(0, min(piece, n_steps - before))

    def add_progress(self, n_steps: int, n_episodes: int) -> tuple[int, int]:
        """Add to the counts, and return what all ranks have done."""
        steps = n_steps + self._add(0, _STEPS, n_steps)
        return steps, n_episodes + self._add(0, _EPISODES, n_episodes)

    @contextmanager
    def _claimed(self, owner: int) -> Iterator[None]:
        free, busy, before = (np.array([word], np.int64) for word in (0, 1, 1))
        while before[0]:
            self._window.Compare_and_swap(busy, free, before, owner, _WORD_BYTES * _BUSY)
            self._window.Flush(owner)
            if before[0]:
                # Who was killed meanwhile never lets go: where MPI can tell, it does so here.
                self._comm.Iprobe()
        try:
            yield
        finally:
            self._add(owner, _BUSY, -1)

    def _copied(self, owner: int) -> Iterator[Shard]:
        pairs = slice(*self._edges[owner : owner + 2])
        n_pairs = pairs.stop - pairs.start
        buffer = np.empty(_PAIR_BYTES * n_pairs, np.uint8)
        self._window.Get(buffer, owner, _HEAD_BYTES)
        self._window.Flush(owner)
        yield Shard(pairs, buffer.view(np.float32)[:n_pairs], buffer.view(np.uint32)[n_pairs:])
        self._window.Put(buffer, owner, _HEAD_BYTES)
        self._window.Flush(owner)
        self.n_bytes += 2 * len(buffer) if owner != self._rank else 0

    def _add(self, owner: int, word: int, number: int) -> int:
        """Add to a word, and return what was there before."""
        before = np.zeros(1, np.int64)
        self._window.Fetch_and_op(np.array([number], np.int64), before, owner, _WORD_BYTES * word)
        self._window.Flush(owner)
        return int(before[0])


# Training in the ranks of an MPI job that share a table in shards, and do not wait for each other.
#
# What the parallel runtime does in shared memory: a rank learns on a copy, merges it shard by shard
# when it has made its piece of the steps, and takes the next piece from a counter.


class MpiAsyncRuntime(InRanks):
    """Trains a table that ranks keep in shards. All ranks make one with equal arguments, and call
    its methods together. They go on from the learner of rank 0. After `train` the learners of all
    ranks hold the same table."""

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
