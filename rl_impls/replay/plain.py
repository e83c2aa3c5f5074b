"""The functions of `kernels` in NumPy, for where Numba is missing. They draw the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rl_impls.replay.tree import (
    NEVER_ADDED,
    NOT_FINITE,
    WIDTH,
    Rng,
    Rows,
    Tree,
    nodes_of,
    sum_level,
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
    rng: Rng, n_added: int, rows: Rows, tree: Tree, starts: Rows,
    marks: NDArray[np.float64], indices: Rows, weights: NDArray[np.float32], ring: Array,
    *out: Array,
) -> None:  # fmt: skip
    _descend(tree, starts, min(n_added, len(ring)), rng, marks, rows)
    marks[:] = nodes_of(tree, starts, -1)[rows]
    capacity = len(ring)
    indices[:] = rows + n_added // capacity * capacity
    indices[indices >= n_added] -= capacity
    weights[:] = marks.min() / marks
    _gather(ring, rows, *out)


def update_tree(
    tree: Tree, starts: Rows, top: NDArray[np.float64], n_added: int, capacity: int,
    indices: Rows, td_errors: NDArray[np.float32], alpha: float, eps: float, nodes: Rows,
) -> int:  # fmt: skip
    if not np.isfinite(td_errors).all():
        return NOT_FINITE
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_added:
        return NEVER_ADDED
    alive = indices >= n_added - capacity
    slots = indices[alive] % capacity
    priorities = (np.abs(td_errors[alive]) + np.float32(eps)) ** np.float32(alpha)
    # Of two errors for one slot the last one counts, and NumPy promises no order.
    last = dict(zip(slots.tolist(), priorities.tolist(), strict=True))
    leaves = nodes_of(tree, starts, -1)
    for slot, priority in last.items():
        leaves[slot] = priority
    top[0] = max(top[0], priorities.max(initial=0.0))
    for level in range(len(starts) - 1, 0, -1):
        slots //= WIDTH
        for group in np.unique(slots).tolist():
            sum_level(tree, starts, level, group, group)
    return len(slots)


def fill_tree(tree: Tree, starts: Rows, begin: int, end: int, priority: float) -> None:
    nodes_of(tree, starts, -1)[begin:end] = priority
    first, last = begin, end - 1
    for level in range(len(starts) - 1, 0, -1):
        first //= WIDTH
        last //= WIDTH
        sum_level(tree, starts, level, first, last)


def _descend(
    tree: Tree, starts: Rows, size: int, rng: Rng, marks: NDArray[np.float64], nodes: Rows
) -> None:
    n = len(nodes)
    marks[:] = (np.arange(n) + drawn(rng, n)) * (tree[0, 0] / n)
    n_nodes = [-(-size // WIDTH**above) for above in reversed(range(len(starts)))]
    top = max(level for level in range(len(starts)) if level == 0 or n_nodes[level] <= n)
    _walk(nodes_of(tree, starts, top)[: n_nodes[top]], marks, nodes)
    for level in range(top + 1, len(starts)):
        child = _child_at(tree[starts[level] + nodes], marks)
        nodes[:] = np.minimum(WIDTH * nodes + child, n_nodes[level] - 1)


def _walk(level: NDArray[np.float64], marks: NDArray[np.float64], nodes: Rows) -> None:
    """The node of a level in which each mark lies; marks become how far into it."""
    begins = np.concatenate([[0.0], np.cumsum(level[:-1])])
    nodes[:] = np.searchsorted(begins[1:], marks, side="right")
    marks -= begins[nodes]


def _child_at(groups: Array, marks: NDArray[np.float64]) -> Rows:
    """The child of each group in which its mark lies; marks become how far into it."""
    every = np.arange(len(marks))
    twos = groups[:, ::2] + groups[:, 1::2]
    fours = twos[:, ::2] + twos[:, 1::2]
    child = np.zeros(len(marks), np.int64)
    for sums in (fours, twos, groups):
        left = sums[every, 2 * child]
        right = marks >= left
        marks -= left * right
        child = 2 * child + right
    return child


def _lanes(ring: Array, obs: Array, actions: Array) -> tuple[Array, ...]:
    """The fields of all rows, each (n, size): see `layout`."""
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
