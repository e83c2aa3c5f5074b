"""A batch of updates as array operations, with the result of applying its rows one after another.

Rows interfere in two ways. A row may write the same entry as an earlier one: both must count, so
the first update of every entry is done, then the second, and so on. A row may take its maximum over
a row of the table that an earlier one wrote: there the batch is cut, and the rest waits. So array
operations pay where states seldom meet again within a batch; `kernels.learn_rows` always pays.

`xp` is NumPy, or CuPy for tables on a GPU.
"""

from __future__ import annotations

from typing import Any

from rl_impls.tabular.transitions import Transitions


def apply_in_order(xp: Any, q: Any, batch: Transitions, alpha: Any, discount: float) -> None:
    """Learn `batch` into the table `q`; `alpha` holds the learning rate of each row."""
    first = 0
    while first < len(batch):
        rest = _rows(batch, slice(first, None))
        n = _independent(xp, rest)
        _apply(xp, q, _rows(rest, slice(n)), alpha[first : first + n], discount)
        first += n


def _rows(batch: Transitions, rows: slice) -> Transitions:
    masks_t = None if batch.masks_t is None else batch.masks_t[rows]
    return Transitions(
        batch.s_tm1[rows], batch.a_tm1[rows], batch.r_t[rows], batch.s_t[rows],
        batch.terminated[rows], masks_t,
    )  # fmt: skip


def _independent(xp: Any, batch: Transitions) -> int:
    """How many rows come before the first whose maximum depends on a row before it."""
    written, first_writer = xp.unique(batch.s_tm1, return_index=True)
    at = xp.minimum(xp.searchsorted(written, batch.s_t), len(written) - 1)
    depends = written[at] == batch.s_t
    depends &= first_writer[at] < xp.arange(len(batch))
    depends &= ~batch.terminated
    return int(depends.argmax()) if depends.any() else len(batch)


def _apply(xp: Any, q: Any, batch: Transitions, alpha: Any, discount: float) -> None:
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
    """How often each entry stands in the rows before."""
    order = xp.argsort(entries, kind="stable")
    ordered = entries[order]
    turn = xp.empty_like(entries)
    turn[order] = xp.arange(len(entries)) - xp.searchsorted(ordered, ordered)
    return turn
