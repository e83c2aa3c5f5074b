"""A rank's copy of the table: it learns on the copy while its last message is on its way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.tabular import TabularEnv
from rl_impls.jit import compiled
from rl_impls.runtimes.mpi.messages import (
    Bytes,
    Codec,
    Counts,
    Deltas,
    Places,
    Values,
    packed,
    unpacked,
)
from rl_impls.runtimes.shared_table import COMPILED_STEPS_PER_VISIT, train_counting
from rl_impls.tabular import CompiledQLearning
from rl_impls.tabular.training import Training

# The mean of what ranks learned of each entry, weighed by visits (Woo, Joshi & Chi, JMLR 2025).
#
# With Q_i the value at rank i, n_i its visits there since the last exchange and B the agreed value
# before, sum(n_i * Q_i) / sum(n_i) = B + sum(n_i * (Q_i - B)) / sum(n_i). Every rank adds up the
# same numbers in the same order, so that all agree bit for bit.
#
# Compiled, since an array operation for each of these lines took ten times as long.

Weights = NDArray[np.float64]
# Most of a table is as it was. So many entries are looked at together, in vector instructions.
GROUP: Final = 8


@compiled
def cut_changed(
    q: Values,
    mark: Values,
    base: Values,
    visits: NDArray[np.uint32],
    places: Places,
    counts: Counts,
    values: Values,
) -> int:
    """places, counts, values <- the entries that differ from `mark`, and their number is returned.

    From then on they are marked and their visits counted anew.
    """
    n = 0
    for start in range(0, len(q), GROUP):
        end = min(start + GROUP, len(q))
        if end - start == GROUP:
            news = False
            for i in range(GROUP):
                news |= q[start + i] != mark[start + i]
            if not news:
                continue
        for place in range(start, end):
            if q[place] != mark[place]:
                places[n] = place
                counts[n] = visits[place]
                values[n] = q[place] - base[place]
                visits[place] = 0
                mark[place] = q[place]
                n += 1
    return n


@compiled
def add_weighed(
    places: Places,
    counts: Counts,
    values: Values,
    steps_per_visit: int,
    sums: Weights,
    weights: Weights,
) -> None:
    """Add one rank's part to the sums. What changed was visited at least once; one of so many steps
    is counted. Such a weight times a float32 is exact, in whichever way a processor multiplies."""
    for i in range(len(places)):
        weight = 1.0 + steps_per_visit * counts[i]
        sums[places[i]] += weight * values[i]
        weights[places[i]] += weight


@compiled
def take_mean(
    places: Places,
    sums: Weights,
    weights: Weights,
    own_weights: Weights,
    base: Values,
    q: Values,
    mark: Values,
    residual: Values,
    visits: NDArray[np.uint32],
    steps_per_visit: int,
) -> None:
    """Let `base` and `q` go over to the mean at these places, and clear the sums there.

    Where `q` has learned since it was cut it becomes the mean of both, weighed by visits: to add
    what others learned would count twice what several ranks find out at once.
    """
    for place in places:
        weight = weights[place]
        if weight == 0.0:
            continue  # it was in the message of a rank before
        base[place] = base[place] + sums[place] / weight
        n_others = weight - own_weights[place]
        if n_others > 0.0:
            agreed = base[place] + residual[place]
            if q[place] == mark[place]:
                q[place] = mark[place] = agreed
            else:
                n_own = 1.0 + steps_per_visit * visits[place]
                q[place] = (n_own * q[place] + n_others * agreed) / (n_own + n_others)
        sums[place] = weights[place] = own_weights[place] = 0.0
        residual[place] = 0.0


NOTHING: Final[Bytes] = np.empty(0, np.uint8)


class MessagingReplica(Protocol):
    def train(self, env: TabularEnv, n_steps: int) -> Training:
        """Learn on the copy, and remember what."""

    def cut(self) -> Bytes:
        """Return a message with what was learned since the last one, which has been taken."""

    def take(self, messages: Sequence[Bytes]) -> None:
        """Learn from the messages of all ranks, one's own among them, in the order of ranks."""

    def agreed(self) -> NDArray[np.float32]:
        """Return the table after the last `take`, equal on all ranks."""

    def settle(self) -> None:
        """Make the copy the agreed table."""


def replica_of(
    learner: CompiledQLearning, env: TabularEnv, codec: Codec, rank: int, n_ranks: int
) -> MessagingReplica:
    return RankReplica(learner, env, codec, rank) if n_ranks > 1 else LoneReplica(learner, env)


class LoneReplica:
    """The replica of a job with one rank: nobody else wants to know."""

    def __init__(self, learner: CompiledQLearning, env: TabularEnv) -> None:
        self._learner: Final = learner
        self.train(env, 0)

    def train(self, env: TabularEnv, n_steps: int) -> Training:
        return self._learner.train(env, n_steps)

    def cut(self) -> Bytes:
        return NOTHING

    def take(self, messages: Sequence[Bytes]) -> None:
        pass

    def agreed(self) -> NDArray[np.float32]:
        return self._learner.table()

    def settle(self) -> None:
        pass


class RankReplica:
    """`_base` is the agreed table, `_mark` the copy as it was last cut or told: an entry that
    differs from it was learned since. `_residual` is what the message on its way does not convey.
    """

    def __init__(
        self, learner: CompiledQLearning, env: TabularEnv, codec: Codec, rank: int
    ) -> None:
        self._learner: Final = learner
        self._codec: Final = codec
        self._rank: Final = rank
        self._visits: Final = np.zeros(learner.q.shape, np.uint32)
        self.train(env, 0)
        self._q: Final = learner.q.reshape(-1)
        # Only now: the training closed entries of illegal actions, which is not learning.
        self._base: Final = self._q.copy()
        self._mark: Final = self._q.copy()
        self._residual: Final = np.zeros_like(self._q)
        # As large as the table, all zeros between two calls.
        self._sums, self._weights, self._own_weights = np.zeros((3, len(self._q)))
        # Room for a message about every entry.
        self._places, self._counts = np.zeros((2, len(self._q)), np.int64)
        self._values: Final = np.zeros_like(self._q)
        self.take([self.cut()] * (rank + 1))  # compiles

    def train(self, env: TabularEnv, n_steps: int) -> Training:
        return train_counting(self._learner, env, n_steps, self._visits)

    def cut(self) -> Bytes:
        n = cut_changed(
            self._q, self._mark, self._base, self._visits.reshape(-1),
            self._places, self._counts, self._values,
        )  # fmt: skip
        own = Deltas(self._places[:n], self._counts[:n], self._values[:n])
        message = packed(own, self._codec)
        self._residual[own.places] = own.values - unpacked(message, self._codec).values
        return message

    def take(self, messages: Sequence[Bytes]) -> None:
        learned = [unpacked(message, self._codec) for message in messages]
        for deltas in learned:
            add_weighed(
                deltas.places, deltas.counts, deltas.values, COMPILED_STEPS_PER_VISIT,
                self._sums, self._weights,
            )  # fmt: skip
        own = learned[self._rank]
        self._own_weights[own.places] = 1.0 + COMPILED_STEPS_PER_VISIT * own.counts
        for deltas in learned:
            take_mean(
                deltas.places, self._sums, self._weights, self._own_weights, self._base, self._q,
                self._mark, self._residual, self._visits.reshape(-1), COMPILED_STEPS_PER_VISIT,
            )  # fmt: skip

    def agreed(self) -> NDArray[np.float32]:
        opened = np.where(np.isneginf(self._base), np.float32(0.0), self._base)
        return opened.reshape(self._learner.q.shape)

    def settle(self) -> None:
        self._q[:] = self._mark[:] = self._base
