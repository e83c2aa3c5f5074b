"""A worker's copy of the shared table: it learns on the copy, and merges it now and then."""

from __future__ import annotations

from collections import defaultdict
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.tabular import TabularEnv
from rl_impls.runtimes.board import Board
from rl_impls.runtimes.merging import merge_pairs
from rl_impls.tabular import CompiledQLearning, QLearner
from rl_impls.tabular.training import Training

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
    """From here on the learner's table is the board's, until one of them learns."""
    with board.locked():
        learner.set_table(board.q)
        if isinstance(learner, CompiledQLearning):
            return ArrayReplica(learner, board)
        return PairReplica(learner, board)


class PairReplica:
    """For any learner. A dictionary counts visits at half an array's price from Python, and knows
    the visited pairs without a search."""

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
    """For a table in a NumPy array, in compiled code. What changed was learned; its weight is the
    number of visits estimated from a part of the steps."""

    def __init__(self, learner: CompiledQLearning, board: Board) -> None:
        from rl_impls.runtimes.merge_kernel import merge_table

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
