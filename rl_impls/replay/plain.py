"""The functions of `kernels` in NumPy, for where Numba is missing. They draw the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rl_impls.replay.layout import (
    LEAVES,
    NEVER_ADDED,
    NOT_FINITE,
    WIDTH,
    Leaves,
    Rng,
    Rows,
    Tree,
    ends_of,
    nodes_of,
    sum_above,
)
from rl_impls.splitmix import drawn

Array = NDArray[Any]


def put(ring: Array, begin: int, skip: int, *columns: Array) -> None:
    n = len(columns[0]) - skip
    until_end = min(n, len(ring) - begin)
    for lanes, rows in zip(_lanes(ring, columns[0], columns[1]), columns, strict=True):
        kept = rows[skip:].reshape(n, lanes.shape[1])
        lanes[begin : begin + until_end] = kept[:until_end]
        lanes[: n - until_end] = kept[until_end:]


def sample(rng: Rng, size: int, rows: Rows, ring: Array, *out: Array) -> None:
    rows[:] = drawn(rng, len(rows)) * size
    _gather(ring, rows, *out)


def sample_tree(
    rng: Rng, n_added: int, rows: Rows, leaves: Leaves, tree: Tree, starts: Rows,
    marks: NDArray[np.float64], indices: Rows, weights: NDArray[np.float32], ring: Array,
    *out: Array,
) -> None:  # fmt: skip
    capacity = len(ring)
    last = min(n_added, capacity) - 1
    _descend(tree, starts, last // LEAVES, rng, marks, rows)
    rows[:] = np.minimum(LEAVES * rows + _child_at(leaves[rows], marks), last)
    indices[:] = rows + n_added // capacity * capacity
    indices[indices >= n_added] -= capacity
    priorities = leaves.reshape(-1)[rows]
    weights[:] = priorities.min() / priorities
    _gather(ring, rows, *out)


def update_tree(
    leaves: Leaves, tree: Tree, starts: Rows, top: NDArray[np.float64], n_added: int,
    capacity: int, indices: Rows, td_errors: NDArray[np.float32], alpha: float, eps: float,
    nodes: Rows,
) -> int:  # fmt: skip
    if not np.isfinite(td_errors).all():
        return NOT_FINITE
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_added:
        return NEVER_ADDED
    alive = indices >= n_added - capacity
    slots = indices[alive] % capacity
    priorities = (np.abs(td_errors[alive]) + np.float32(eps)) ** np.float32(alpha)
    # Of two errors for one slot the last one counts, and NumPy promises no order.
    for slot, priority in zip(slots.tolist(), priorities.tolist(), strict=True):
        leaves[slot // LEAVES, slot % LEAVES] = priority
    top[0] = max(top[0], priorities.max(initial=0.0))
    sum_above(leaves, tree, starts, np.unique(slots // LEAVES))
    return len(slots)


def fill_tree(
    leaves: Leaves, tree: Tree, starts: Rows, begin: int, end: int, priority: float
) -> None:
    leaves.reshape(-1)[begin:end] = priority
    sum_above(leaves, tree, starts, np.arange(begin // LEAVES, (end - 1) // LEAVES + 1))


def _descend(
    tree: Tree, starts: Rows, last_node: int, rng: Rng, marks: NDArray[np.float64], nodes: Rows
) -> None:
    n = len(nodes)
    marks[:] = (np.arange(n) + drawn(rng, n)) * (tree[0, 0] / n)
    lasts = [last_node // WIDTH**above for above in reversed(range(len(starts)))]
    top = max(level for level, last in enumerate(lasts) if level == 0 or last < n)
    _walk(nodes_of(tree, starts, top)[: lasts[top] + 1], marks, nodes)
    for level in range(top + 1, len(starts)):
        child = _child_at(tree[starts[level] + nodes], marks)
        nodes[:] = np.minimum(WIDTH * nodes + child, lasts[level])


def _walk(level: NDArray[np.float64], marks: NDArray[np.float64], nodes: Rows) -> None:
    """Find the node of a level in which each mark lies; marks become how far into it."""
    begins = np.concatenate([[0.0], np.cumsum(level[:-1])])
    nodes[:] = np.searchsorted(begins[1:], marks, side="right")
    marks -= begins[nodes]


def _child_at(groups: Array, marks: NDArray[np.float64]) -> Rows:
    """Return the child of each group in which its mark lies; marks become how far into it."""
    begins = np.zeros(groups.shape)
    begins[:, 1:] = ends_of(groups)[:, :-1]
    child: Rows = (marks[:, None] >= begins[:, 1:]).sum(axis=1)
    marks -= begins[np.arange(len(marks)), child]
    return child


def _lanes(ring: Array, obs: Array, actions: Array) -> tuple[Array, ...]:
    """Return the fields of all rows, each (n, size): see `layout`."""
    size = obs.shape[1]
    if actions.dtype == np.int64:
        a_tm1 = ring.view(np.int64)[:, size + 1 : size + 2]
    else:
        a_tm1 = ring[:, 2 * size + 2 : 2 * size + 2 + actions.shape[1]]
    return (
        ring[:, :size],
        a_tm1,
        ring[:, 2 * size : 2 * size + 1],
        ring[:, size : 2 * size],
        ring.view(np.int32)[:, 2 * size + 1 : 2 * size + 2],
    )


def _gather(ring: Array, rows: Rows, *out: Array) -> None:
    picked = ring[rows]
    for lanes, column in zip(_lanes(picked, out[0], out[1]), out, strict=True):
        column[:] = lanes.reshape(column.shape)
