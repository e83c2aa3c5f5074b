"""Sampling from a ring of transitions in compiled code: rows are drawn and gathered in one call.

Batches go along the upper levels of the sum tree and down the others level by level: the rows of a
level do not wait for each other.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.jit import compiled, inlined
from rl_impls.replay.tree import NEVER_ADDED, NOT_FINITE, WIDTH, Rng, Rows, Tree
from rl_impls.splitmix import GAMMA, unit

SHIFT: Final = 3  # an eighth
FETCHED: Final = 50_000  # nodes of a level that the nearer caches do not hold


@inlined
def gather(
    ring: Any, rows: Any, obs_tm1: Any, a_tm1: Any, r_t: Any, obs_t: Any, terminated_t: Any
) -> None:
    """See `layout`."""
    size = obs_tm1.shape[1]
    # A short loop first: it has many rows under way from memory before they are needed.
    for i in range(len(rows)):
        r_t[i] = ring[rows[i], 2 * size]
    flags = ring.view(np.int32)
    numbers = ring.view(np.int64)
    for i in range(len(rows)):
        row = rows[i]
        for j in range(size):
            obs_tm1[i, j] = ring[row, j]
        for j in range(size):
            obs_t[i, j] = ring[row, size + j]
        terminated_t[i] = flags[row, 2 * size + 1] != 0
        if a_tm1.itemsize == 8:
            a_tm1[i, 0] = numbers[row, size + 1]
        else:
            for j in range(a_tm1.shape[1]):
                a_tm1[i, j] = ring[row, 2 * size + 2 + j]


@compiled
def put(
    ring: Any, begin: int, skip: int,
    obs_tm1: Any, a_tm1: Any, r_t: Any, obs_t: Any, terminated_t: Any,
) -> None:  # fmt: skip
    """Copy all transitions but the first `skip` into the ring, from row `begin` on."""
    size = obs_tm1.shape[1]
    flags = ring.view(np.int32)
    numbers = ring.view(np.int64)
    row = begin
    for i in range(skip, len(r_t)):
        for j in range(size):
            ring[row, j] = obs_tm1[i, j]
        for j in range(size):
            ring[row, size + j] = obs_t[i, j]
        ring[row, 2 * size] = r_t[i]
        flags[row, 2 * size + 1] = terminated_t[i]
        if a_tm1.itemsize == 8:
            numbers[row, size + 1] = a_tm1[i, 0]
        else:
            for j in range(a_tm1.shape[1]):
                ring[row, 2 * size + 2 + j] = a_tm1[i, j]
        row = row + 1 if row + 1 < len(ring) else 0


@compiled
def sample(
    rng: Rng, size: int, rows: Rows, ring: Any,
    obs_tm1: Any, a_tm1: Any, r_t: Any, obs_t: Any, terminated_t: Any,
) -> None:  # fmt: skip
    """Draw a row for each of `rows` from the first `size`, and gather their fields."""
    counter = rng[0]
    for i in range(len(rows)):
        counter += GAMMA
        rows[i] = np.int64(unit(counter) * size)
    rng[0] = counter
    gather(ring, rows, obs_tm1, a_tm1, r_t, obs_t, terminated_t)


@inlined
def child_at(tree: Any, group: Any, mark: Any) -> tuple[Any, Any]:
    """The child of a group in which the mark lies, and how far into it.

    By halves, without a branch: nobody can foretell where the mark lies.
    """
    four = (tree[group, 0] + tree[group, 1]) + (tree[group, 2] + tree[group, 3])
    child = np.int64(mark >= four) << 2
    mark -= four if mark >= four else 0.0
    two = tree[group, child] + tree[group, child + 1]
    child += np.int64(mark >= two) << 1
    mark -= two if mark >= two else 0.0
    one = tree[group, child]
    child += np.int64(mark >= one)
    mark -= one if mark >= one else 0.0
    return child, mark


@inlined
def walked_level(n_levels: int, size: int, n_marks: int) -> int:
    """The last level on which the first `size` leaves have no more nodes than there are marks."""
    level = 0
    while level + 1 < n_levels and (size - 1) >> (SHIFT * (n_levels - 2 - level)) < n_marks:
        level += 1
    return level


@inlined
def walk(tree: Any, begin: int, last: int, marks: Any, nodes: Any) -> None:
    """The node of a level in which each mark lies; marks become how far into it.

    Marks ascend: all of them are found in one pass along the level.
    """
    node, below = 0, 0.0
    end = tree[begin, 0]
    for i in range(len(nodes)):
        mark = marks[i]
        while node < last and mark >= end:
            node += 1
            below = end
            end = below + tree[begin + (node >> SHIFT), node & (WIDTH - 1)]
        marks[i] = mark - below
        nodes[i] = node


@inlined
def descend(
    tree: Any, starts: Any, size: int, rng: Any, marks: Any, nodes: Any, firsts: Any
) -> None:
    """A leaf for each of `nodes`, one from each of as many equal parts of the total."""
    n = len(nodes)
    share = tree[0, 0] / n
    counter = rng[0]
    for i in range(n):
        counter += GAMMA
        marks[i] = (i + unit(counter)) * share
    rng[0] = counter
    top = walked_level(len(starts), size, n)
    walk(tree, starts[top], (size - 1) >> (SHIFT * (len(starts) - 1 - top)), marks, nodes)
    for level in range(top + 1, len(starts)):
        # Rounding may put a mark behind all there is; then the last one is meant.
        last = (size - 1) >> (SHIFT * (len(starts) - 1 - level))
        if last >= FETCHED:
            # A short loop first: it has many groups under way from memory before they are needed.
            for i in range(n):
                firsts[i] = tree[starts[level] + nodes[i], 0]
        for i in range(n):
            node = nodes[i]
            child, marks[i] = child_at(tree, starts[level] + node, marks[i])
            nodes[i] = min((node << SHIFT) + child, last)


@compiled
def sample_tree(
    rng: Rng, n_added: int, rows: Rows, tree: Tree, starts: Rows,
    marks: NDArray[np.float64], indices: Rows, weights: NDArray[np.float32], ring: Any,
    obs_tm1: Any, a_tm1: Any, r_t: Any, obs_t: Any, terminated_t: Any,
) -> None:  # fmt: skip
    """Draw a row for each of `rows` by its priority, with w**(1 / beta); see `prioritised`."""
    capacity = len(ring)
    descend(tree, starts, min(n_added, capacity), rng, marks, rows, weights)
    lap = n_added // capacity * capacity
    leaves = starts[len(starts) - 1]
    least = np.inf
    for i in range(len(rows)):
        marks[i] = tree[leaves + (rows[i] >> SHIFT), rows[i] & (WIDTH - 1)]
        least = min(least, marks[i])
        index = rows[i] + lap
        indices[i] = index if index < n_added else index - capacity
    for i in range(len(rows)):
        weights[i] = least / marks[i]
    gather(ring, rows, obs_tm1, a_tm1, r_t, obs_t, terminated_t)


@inlined
def sum_group(tree: Any, starts: Any, level: int, group: int) -> None:
    """Sum a group of a level into its node in the level above."""
    total = 0.0
    for k in range(WIDTH):
        total += tree[starts[level] + group, k]
    tree[starts[level - 1] + (group >> SHIFT), group & (WIDTH - 1)] = total


@compiled
def update_tree(
    tree: Tree, starts: Rows, top: NDArray[np.float64], n_added: int, capacity: int,
    indices: Rows, td_errors: NDArray[np.float32], alpha: float, eps: float, nodes: Rows,
) -> int:  # fmt: skip
    """Give the transitions that are still there their new priorities; returns how many are."""
    for i in range(len(indices)):
        if not np.isfinite(td_errors[i]):
            return NOT_FINITE
        if not 0 <= indices[i] < n_added:
            return NEVER_ADDED
    n = 0
    power, least = np.float32(alpha), np.float32(eps)
    leaves = starts[len(starts) - 1]
    for i in range(len(indices)):
        if indices[i] < n_added - capacity:
            continue  # overwritten since
        slot = indices[i] % capacity
        priority = np.float64((abs(td_errors[i]) + least) ** power)
        tree[leaves + (slot >> SHIFT), slot & (WIDTH - 1)] = priority
        top[0] = max(top[0], priority)
        nodes[n] = slot
        n += 1
    for level in range(len(starts) - 1, 0, -1):
        for i in range(n):
            nodes[i] >>= SHIFT
            sum_group(tree, starts, level, nodes[i])
    return n


@compiled
def fill_tree(tree: Tree, starts: Rows, begin: int, end: int, priority: float) -> None:
    """The same priority for the slots from `begin` to before `end`, at least one."""
    leaves = starts[len(starts) - 1]
    for slot in range(begin, end):
        tree[leaves + (slot >> SHIFT), slot & (WIDTH - 1)] = priority
    first, last = begin, end - 1
    for level in range(len(starts) - 1, 0, -1):
        first >>= SHIFT
        last >>= SHIFT
        for group in range(first, last + 1):
            sum_group(tree, starts, level, group)
