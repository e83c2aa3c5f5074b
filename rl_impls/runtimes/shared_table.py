"""A table that several processes share: their pieces of the work, their copies, and how these
merge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.tabular import TabularEnv
from rl_impls.runtimes.processes import NamelessMemory
from rl_impls.tabular import CompiledQLearning, QLearner
from rl_impls.tabular.training import Training

# Who does how many of the steps that are left: in proportion to measured speed.
#
# Processes take their steps piece by piece, half of their share of what is left at most (factoring;
# Hummel, Schonberg & Flynn, 1992): so all end at about the same time, however the machine treats
# each of them meanwhile.

# The last pieces become small; below this part of a whole one, merging costs more than it saves.
SMALLEST_PIECE: Final = 1 / 32
# The part that the latest steps have in a measured speed.
NEWS: Final = 0.3


def shares(total: int, speeds: Sequence[float]) -> list[int]:
    """Split `total` in proportion to `speeds`. The parts are whole and sum to the total.

    A speed of 0 is one that is not known yet, and counts as the mean of the known ones.
    """
    known = [speed for speed in speeds if speed > 0]
    mean = sum(known) / len(known) if known else 1.0
    ends = np.cumsum([speed if speed > 0 else mean for speed in speeds])
    # Rounding where each part ends, instead of each part, leaves nothing over.
    edges = [round(total * (end / ends[-1])) for end in ends.tolist()[:-1]] + [total]
    return [edge - before for before, edge in zip([0, *edges[:-1]], edges, strict=True)]


def next_piece(left: int, speeds: Sequence[float], worker: int, steps_per_sync: int) -> int:
    """Return how many of the `left` steps this worker does before it merges again."""
    least = max(1, int(steps_per_sync * SMALLEST_PIECE))
    half_share = shares(left, speeds)[worker] // 2
    return min(left, max(least, half_share), steps_per_sync)


def blended(before: float, latest: float) -> float:
    """Return a speed that follows the latest one, and not its every whim; `before` is 0 if
    unknown."""
    return NEWS * latest + (1 - NEWS) * (before or latest)


# Putting together what processes learned apart: each entry is the mean, weighed by visits.
#
# With Q_i the value of an entry at worker i and n_i its visits there since the last merge, the
# merged value is sum(n_i * Q_i) / sum(n_i). Workers merge one after another, and the shared table
# remembers how often an entry was learned in all; what a worker has not seen of that is the others'
# weight:
#
#     q <- (n_own * Q_own + n_others * q) / (n_own + n_others)
#
# which, worker by worker and in any order, comes to the same mean. No worker waits for another.


Pairs = NDArray[np.intp]  # places in the flat table: state * n_actions + action


def merge_pairs(
    q: NDArray[np.float32],
    n: NDArray[np.uint32],
    seen: NDArray[np.uint32],
    own: Pairs,
    n_own: NDArray[np.uint32],
    q_own: NDArray[np.float64],
) -> Pairs:
    """Merge the entries `own` into the flat table `q`; returns the entries that others learned.

    Counts may wrap around: only their differences are used. `seen` becomes `n`.
    """
    others = np.flatnonzero(n != seen)
    n_others = (n[own] - seen[own]).astype(np.float64)
    q[own] = (n_own * q_own + n_others * q[own]) / (n_own + n_others)
    n[own] += n_own
    seen[own] = n[own]
    seen[others] = n[others]
    return others


# The places of `_counts`.
_ASKED, _TAKEN, _STOPPED, _STEPS, _EPISODES, _N_COUNTS = range(6)


class Board:
    """The merged table and the counts of all workers, arrays over one shared memory.

    `q` is the table as merged so far, `n` how often each of its entries was learned, `speeds` the
    steps per second of each worker. All but `stop` and `steps_done` belongs inside `locked`.
    """

    def __init__(
        self, n_states: int, n_actions: int, n_workers: int, memory: NamelessMemory | None = None
    ) -> None:
        self.n_workers: Final = n_workers
        n_pairs = n_states * n_actions
        numbers_bytes = 8 * (_N_COUNTS + n_workers)
        self.memory: Final = memory or NamelessMemory(numbers_bytes + 8 * n_pairs)
        buffer = self.memory.buffer
        self._counts = np.frombuffer(buffer, np.int64, _N_COUNTS)
        self.speeds = np.frombuffer(buffer, np.float64, n_workers, offset=8 * _N_COUNTS)
        shape = (n_states, n_actions)
        q = np.frombuffer(buffer, np.float32, n_pairs, offset=numbers_bytes)
        n = np.frombuffer(buffer, np.uint32, n_pairs, offset=numbers_bytes + 4 * n_pairs)
        self.q: NDArray[np.float32] = q.reshape(shape)
        self.n: NDArray[np.uint32] = n.reshape(shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return Board, (*self.q.shape, self.n_workers, self.memory)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock while a worker merges and takes its next piece; never while it acts or
        learns."""
        with self.memory.locked():
            yield

    def ask_for(self, n_steps: int) -> None:
        """Let workers that take pieces from now on share these steps."""
        self._counts[_ASKED] = n_steps
        self._counts[_TAKEN] = 0

    def take_piece(self, worker: int, steps_per_sync: int) -> int:
        """Return the steps this worker does next; 0 when none are left or the training was
        stopped."""
        left = int(self._counts[_ASKED] - self._counts[_TAKEN])
        if left <= 0 or self._counts[_STOPPED]:
            return 0
        piece = next_piece(left, self.speeds.tolist(), worker, steps_per_sync)
        self._counts[_TAKEN] += piece
        return piece

    def stop(self) -> None:
        """Let no worker take another piece."""
        self._counts[_STOPPED] = 1

    def set_progress(self, n_steps: int, n_episodes: int) -> None:
        self._counts[_STEPS] = n_steps
        self._counts[_EPISODES] = n_episodes

    def add_progress(self, n_steps: int, n_episodes: int) -> None:
        self._counts[_STEPS] += n_steps
        self._counts[_EPISODES] += n_episodes

    def progress(self) -> tuple[int, int]:
        """Return the steps and episodes of all workers together, as far as they are merged."""
        return int(self._counts[_STEPS]), int(self._counts[_EPISODES])


# Counting visits slows a compiled step by a tenth: a core's cache does not hold the table and its
# counts together. So it counts during one of sixteen steps.
COMPILED_STEPS_PER_VISIT: Final = 16


def train_counting(
    learner: CompiledQLearning, env: TabularEnv, n_steps: int, visits: NDArray[np.uint32]
) -> Training:
    """Train, and count in `visits` what one of so many steps learns."""
    n_counted = n_steps // COMPILED_STEPS_PER_VISIT
    counted = learner.train(env, n_counted, visits=visits)
    return counted + learner.train(env, n_steps - n_counted)


class Replica(Protocol):
    def prepare(self, env: TabularEnv) -> None:
        """Compile what there is to compile. Once, before all else."""

    def train(self, env: TabularEnv, n_steps: int) -> Training:
        """Learn on the copy, and remember what."""

    def merge(self) -> None:
        """Give what was learned, take what others learned. The caller holds the board's lock."""


def replica_of(learner: QLearner, board: Board) -> Replica:
    """Return the learner's copy: from here on its table is the board's, until one of them
    learns."""
    with board.locked():
        learner.set_table(board.q)
        if isinstance(learner, CompiledQLearning):
            return ArrayReplica(learner, board)
        return PairReplica(learner, board)


class PairReplica:
    """A copy for any learner. A dictionary counts visits at half an array's price from Python, and
    knows the visited pairs without a search."""

    def __init__(self, learner: QLearner, board: Board) -> None:
        self._learner: Final = learner
        self._board: Final = board
        self._seen: Final = board.n.ravel().copy()
        self._visits: Final[defaultdict[tuple[int, int], int]] = defaultdict(int)

    def prepare(self, env: TabularEnv) -> None:
        self.train(env, 0)

    def train(self, env: TabularEnv, n_steps: int) -> Training:
        return self._learner.train(env, n_steps, visits=self._visits)

    def merge(self) -> None:
        board, learner, visits = self._board, self._learner, self._visits
        n_actions = board.q.shape[1]
        visited = np.array(list(visits), np.intp).reshape(-1, 2)
        n_own = np.fromiter(visits.values(), np.uint32, len(visits))
        q_own = learner.entries(visited[:, 0], visited[:, 1])
        own = visited[:, 0] * n_actions + visited[:, 1]
        q, n = board.q.reshape(-1), board.n.reshape(-1)
        others = merge_pairs(q, n, self._seen, own, n_own, q_own)
        states, actions = np.divmod(others, n_actions)
        learner.set_entries(states, actions, q[others])
        visits.clear()


class ArrayReplica:
    """A copy for a table in a NumPy array, in compiled code. What changed was learned; its weight
    is the number of visits estimated from a part of the steps."""

    def __init__(self, learner: CompiledQLearning, board: Board) -> None:
        from rl_impls.tabular.kernels import merge_table

        self._merge_table: Final = merge_table
        self._learner: Final = learner
        self._board: Final = board
        self._seen: Final = board.n.ravel().copy()
        self._q_seen: Final = np.empty(board.q.size, np.float32)
        self._visits: Final = np.zeros(board.n.shape, np.uint32)

    def prepare(self, env: TabularEnv) -> None:
        self.train(env, 0)
        # Only now: the training closed entries of illegal actions, which is not learning.
        self._q_seen[:] = self._learner.q.reshape(-1)
        with self._board.locked():
            self.merge()

    def train(self, env: TabularEnv, n_steps: int) -> Training:
        return train_counting(self._learner, env, n_steps, self._visits)

    def merge(self) -> None:
        q, n, visits = self._board.q, self._board.n, self._visits
        self._merge_table(
            q.reshape(-1), n.reshape(-1), self._seen, self._learner.q.reshape(-1),
            self._q_seen, visits.reshape(-1), COMPILED_STEPS_PER_VISIT,
        )  # fmt: skip
