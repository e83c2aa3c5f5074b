"""Q-learning on arrays: one at a time, in batches, in work arrays, and on a GPU."""

from __future__ import annotations

import gc
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.model import Actions, Flags, States
from rl_impls.envs.tabular import Legal
from rl_impls.errors import SettingError
from rl_impls.tabular.learner import QLearner
from rl_impls.tabular.training import TableTransitions

# A batch of updates as array operations, with the result of applying its rows one after another.
#
# Rows interfere in two ways. A row may write the same entry as an earlier one: both must count, so
# the first update of every entry is done, then the second, and so on. A row may take its maximum
# over a row of the table that an earlier one wrote: there the batch is cut, and the rest waits. So
# array operations pay where states seldom meet again within a batch; `kernels.learn_rows` always
# pays.
#
# `xp` is NumPy, or CuPy for tables on a GPU.


def apply_in_order(xp: Any, q: Any, batch: TableTransitions, alpha: Any, discount: float) -> None:
    """Learn `batch` into the table `q`; `alpha` holds the learning rate of each row."""
    first = 0
    while first < len(batch):
        rest = _rows(batch, slice(first, None))
        n = _independent(xp, rest)
        _apply(xp, q, _rows(rest, slice(n)), alpha[first : first + n], discount)
        first += n


def _rows(batch: TableTransitions, rows: slice) -> TableTransitions:
    masks_t = None if batch.masks_t is None else batch.masks_t[rows]
    return TableTransitions(
        batch.s_tm1[rows], batch.a_tm1[rows], batch.r_t[rows], batch.s_t[rows],
        batch.terminated[rows], masks_t,
    )  # fmt: skip


def _independent(xp: Any, batch: TableTransitions) -> int:
    """Return how many rows come before the first whose maximum depends on a row before it."""
    written, first_writer = xp.unique(batch.s_tm1, return_index=True)
    at = xp.minimum(xp.searchsorted(written, batch.s_t), len(written) - 1)
    depends = written[at] == batch.s_t
    depends &= first_writer[at] < xp.arange(len(batch))
    depends &= ~batch.terminated
    return int(depends.argmax()) if depends.any() else len(batch)


def _apply(xp: Any, q: Any, batch: TableTransitions, alpha: Any, discount: float) -> None:
    values = q[batch.s_t]
    if batch.masks_t is not None:
        values = xp.where(batch.masks_t, values, -xp.inf)
    best = values.max(axis=1)
    best[batch.terminated | xp.isinf(best)] = 0.0
    target = batch.r_t + discount * best
    entries = batch.s_tm1 * q.shape[1] + batch.a_tm1
    turn = _occurrence(xp, entries)
    flat = q.reshape(-1)
    for now in range(int(turn.max()) + 1):
        rows = xp.flatnonzero(turn == now)
        at = entries[rows]
        flat[at] += alpha[rows] * (target[rows] - flat[at])


def _occurrence(xp: Any, entries: Any) -> Any:
    """Count how often each entry stands in the rows before."""
    order = xp.argsort(entries, kind="stable")
    ordered = entries[order]
    turn = xp.empty_like(entries)
    turn[order] = xp.arange(len(entries)) - xp.searchsorted(ordered, ordered)
    return turn


class NumpyQLearning(QLearner):
    """Q-learning on one float32 array of `xp`, which is NumPy or has its functions."""

    name: ClassVar[str] = "numpy"

    def __init__(self, n_states: int, n_actions: int, *, xp: Any = np, **arguments: Any) -> None:
        super().__init__(n_states, n_actions, **arguments)
        self.xp: Final = xp
        self.q: NDArray[np.float32] = xp.zeros((n_states, n_actions), np.float32)
        self._columns: dict[tuple[int, ...], NDArray[np.intp]] = {}
        self._batch_chance = np.random.default_rng(self.chance.getrandbits(64))

    def greedy(self, s_t: int, legal_t: Legal = None) -> int:
        if legal_t is None:
            return int(self.q[s_t].argmax())
        return legal_t[self._legal_values(s_t, legal_t).argmax()]

    def learn(
        self,
        s_tm1: int,
        a_tm1: int,
        r_t: float,
        s_t: int,
        *,
        terminated: bool,
        legal_t: Legal = None,
    ) -> None:
        target = r_t
        if not terminated and legal_t != ():
            values = self.q[s_t] if legal_t is None else self._legal_values(s_t, legal_t)
            # The entry at the greatest index: a third of the time that values.max() takes.
            target += self._discount * values.item(values.argmax())
        row = self.q[s_tm1]
        value = row.item(a_tm1)
        row[a_tm1] = value + self.alpha * (target - value)
        self.count_steps()

    def act_batch(self, s_t: States, masks_t: Flags | None = None) -> Actions:
        xp = self.xp
        values = self.q[xp.asarray(s_t)]
        if masks_t is not None:
            values = xp.where(xp.asarray(masks_t), values, -xp.inf)
        actions: Actions = self._on_host(values.argmax(axis=1))
        explores = np.flatnonzero(self._batch_chance.random(len(s_t)) < self.epsilon)
        if len(explores):
            actions[explores] = self._any_legal(
                None if masks_t is None else masks_t[explores], len(explores)
            )
        return actions

    def learn_batch(self, batch: TableTransitions) -> None:
        self._apply(batch, self._alphas(len(batch)))
        self.count_steps(len(batch))

    def table(self) -> NDArray[np.float32]:
        return np.array(self._on_host(self.q))

    def set_table(self, table: NDArray[Any]) -> None:
        self.q[:] = self.xp.asarray(table)

    def entries(self, states: States, actions: Actions) -> NDArray[np.float64]:
        to_device = self.xp.asarray
        values: NDArray[np.float64] = self._on_host(self.q[to_device(states), to_device(actions)])
        return values.astype(np.float64)

    def set_entries(self, states: States, actions: Actions, values: NDArray[Any]) -> None:
        to_device = self.xp.asarray
        self.q[to_device(states), to_device(actions)] = to_device(values)

    def _apply(self, batch: TableTransitions, alphas: NDArray[np.float64]) -> None:
        apply_in_order(self.xp, self.q, batch, alphas, self._discount)

    def _on_host(self, array: Any) -> Any:
        return array

    def _legal_values(self, s_t: int, legal_t: tuple[int, ...]) -> NDArray[np.float32]:
        values: NDArray[np.float32] = self.q[s_t].take(self._columns_of(legal_t))
        return values

    def _columns_of(self, legal_t: tuple[int, ...]) -> NDArray[np.intp]:
        columns = self._columns.get(legal_t)
        if columns is None:
            columns = self._columns[legal_t] = self.xp.array(legal_t, np.intp)
        return columns

    def _any_legal(self, masks: Flags | None, n: int) -> Actions:
        if masks is None:
            return self._batch_chance.integers(self.n_actions, size=n)
        # The greatest of equally distributed numbers is at every place equally often.
        draws = self._batch_chance.random((n, self.n_actions))
        actions: Actions = np.where(masks, draws, -1.0).argmax(axis=1)
        return actions

    def _alphas(self, n: int) -> NDArray[np.float64]:
        """Return the learning rate of each of the next `n` steps."""
        schedule = self.settings.learning_rate
        if schedule.per == "step":
            return np.array([schedule.at(self.n_steps + i) for i in range(n)])
        return np.full(n, self.alpha)


COLLECT_EVERY_STEPS: Final = 10_000


class MemoryOptimizedQLearning(NumpyQLearning):
    """Works in arrays that are allocated once, and collects garbage every 10,000 steps."""

    name: ClassVar[str] = "memory"

    def __init__(self, n_states: int, n_actions: int, **arguments: Any) -> None:
        super().__init__(n_states, n_actions, **arguments)
        work = np.empty(n_actions, np.float32)
        self._work: Final = [work[:n] for n in range(n_actions + 1)]
        self._collect_at = COLLECT_EVERY_STEPS

    def _legal_values(self, s_t: int, legal_t: tuple[int, ...]) -> NDArray[np.float32]:
        columns = self._columns_of(legal_t)
        # "clip" changes no column, all are in range; "raise" would gather into a buffer first.
        self.q[s_t].take(columns, out=self._work[len(legal_t)], mode="clip")
        return self._work[len(legal_t)]

    def count_steps(self, n: int = 1) -> None:
        super().count_steps(n)
        if self.n_steps >= self._collect_at:
            self._collect_at = self.n_steps + COLLECT_EVERY_STEPS
            # The young generations: what training leaves behind is there, and looking through the
            # old one takes longer than ten thousand steps where a large library is imported.
            gc.collect(1)


BUFFER_SIZE: Final = 32


class BatchQLearning(NumpyQLearning):
    """Holds transitions back until its buffer is full; acts on the table as it was before them.

    The rows are applied in order, so that the table is the one a learner without a buffer reaches
    from the same transitions. Training, saving and `table` learn what is pending.
    """

    name: ClassVar[str] = "batch"

    def __init__(
        self, n_states: int, n_actions: int, *, buffer_size: int = BUFFER_SIZE, **arguments: Any
    ) -> None:
        super().__init__(n_states, n_actions, **arguments)
        if buffer_size < 1:
            raise SettingError(f"a buffer holds at least 1 transition, not {buffer_size}.")
        self._pending: Final = TableTransitions(
            np.zeros(buffer_size, np.int64), np.zeros(buffer_size, np.int64),
            np.zeros(buffer_size, np.float32), np.zeros(buffer_size, np.int64),
            np.zeros(buffer_size, np.bool_), np.zeros((buffer_size, n_actions), np.bool_),
        )  # fmt: skip
        self._rates: NDArray[np.float64] = np.zeros(buffer_size)
        self._n_pending = 0

    def learn(
        self,
        s_tm1: int,
        a_tm1: int,
        r_t: float,
        s_t: int,
        *,
        terminated: bool,
        legal_t: Legal = None,
    ) -> None:
        i = self._n_pending
        pending = self._pending
        pending.s_tm1[i] = s_tm1
        pending.a_tm1[i] = a_tm1
        pending.r_t[i] = r_t
        pending.s_t[i] = s_t
        pending.terminated[i] = terminated
        assert pending.masks_t is not None
        mask = pending.masks_t[i]
        mask[:] = legal_t is None
        if legal_t:
            mask[list(legal_t)] = True
        self._rates[i] = self.alpha
        self._n_pending = i + 1
        self.count_steps()
        if self._n_pending == len(self._rates):
            self.flush()

    def learn_batch(self, batch: TableTransitions) -> None:
        self.flush()
        super().learn_batch(batch)

    def flush(self) -> None:
        n, pending = self._n_pending, self._pending
        if n == 0:
            return
        self._n_pending = 0
        assert pending.masks_t is not None
        rows = TableTransitions(
            pending.s_tm1[:n], pending.a_tm1[:n], pending.r_t[:n], pending.s_t[:n],
            pending.terminated[:n], pending.masks_t[:n],
        )  # fmt: skip
        self._apply(rows, self._rates[:n])

    def table(self) -> NDArray[np.float32]:
        self.flush()
        return super().table()

    def set_table(self, table: NDArray[Any]) -> None:
        self._n_pending = 0
        super().set_table(table)


def array_module() -> Any:
    """Return CuPy where it is installed and finds a device, else NumPy."""
    try:
        import cupy  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return np
    try:
        return cupy if cupy.cuda.runtime.getDeviceCount() > 0 else np
    except cupy.cuda.runtime.CUDARuntimeError:  # CuPy without a driver
        return np


class GPUQLearning(BatchQLearning):
    """The table lies on the device; transitions travel there a buffer at a time."""

    name: ClassVar[str] = "gpu"

    def __init__(self, n_states: int, n_actions: int, **arguments: Any) -> None:
        super().__init__(n_states, n_actions, xp=array_module(), **arguments)

    def _apply(self, batch: TableTransitions, alphas: NDArray[np.float64]) -> None:
        to_device = self.xp.asarray
        masks_t = None if batch.masks_t is None else to_device(batch.masks_t)
        there = TableTransitions(
            to_device(batch.s_tm1), to_device(batch.a_tm1), to_device(batch.r_t),
            to_device(batch.s_t), to_device(batch.terminated), masks_t,
        )  # fmt: skip
        super()._apply(there, to_device(alphas))

    def _on_host(self, array: Any) -> Any:
        return array if self.xp is np else self.xp.asnumpy(array)
