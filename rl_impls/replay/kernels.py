"""Sampling from a ring of transitions in compiled code: rows are drawn and gathered in one call."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from rl_impls.jit import compiled, inlined
from rl_impls.replay.layout import (
    LEAVES,
    LINE,
    NEVER_ADDED,
    NOT_FINITE,
    WIDTH,
    Leaves,
    Rng,
    Rows,
    Tree,
    ends_of,
)
from rl_impls.splitmix import GAMMA, unit

# What the way down a sum tree takes and Numba does not write by itself: vectors and prefetches.
#
# They are LLVM's own, which each processor's backend turns into what it has: with AVX-512, eight
# sums of a group in three steps, and one comparison with all of them. They are fixed: what Numba
# has cached of their callers never goes stale.
#
# Called from Python they do the same with NumPy, and fetch nothing.


def child_at(groups: Any, group: int, mark: float) -> tuple[int, float]:
    """Return the child of a group in which the mark lies, and how far into it.

    Without a branch: nobody can foretell where the mark lies. Behind all of them is in the last.
    """
    ends = ends_of(groups[group])
    child = int(np.count_nonzero(mark >= ends[:-1]))
    return child, float(mark - (ends[child - 1] if child else 0.0))


def fetch(rows: Any, row: int) -> None:
    """Have a row under way from memory before it is needed."""


def _place(context: Any, builder: Any, kind: Any, rows: Any, row: Any) -> Any:
    """Return the address of a row of a two-dimensional array."""
    array = context.make_array(kind)(context, builder, rows)
    width = builder.extract_value(array.shape, 1)
    return builder.gep(array.data, [builder.mul(row, width)])


def _begins(builder: Any, children: Any) -> Any:
    """Return where each child begins: at 0, then at all of `layout.ends_of` but the last."""
    n = children.type.count
    zeros = ir.Constant(children.type, [0.0] * n)

    def moved(lanes: Any, by: int) -> Any:
        sources = [n] * by + list(range(n - by))
        kind = ir.VectorType(ir.IntType(32), n)
        return builder.shuffle_vector(lanes, zeros, ir.Constant(kind, sources))

    ends, by = children, 1
    while by < n:
        ends = builder.fadd(ends, moved(ends, by))
        by *= 2
    return moved(ends, 1)


def _everywhere(builder: Any, number: Any, n: int) -> Any:
    """Return a vector of n times this number."""
    lanes = ir.Constant(ir.VectorType(number.type, n), ir.Undefined)
    first = builder.insert_element(lanes, number, ir.IntType(32)(0))
    to_first = ir.Constant(ir.VectorType(ir.IntType(32), n), [0] * n)
    return builder.shuffle_vector(first, lanes, to_first)


def _child_code(typing: Any, groups: Any, group: Any, mark: Any) -> Any:
    n = 8 * LINE // groups.dtype.bitwidth

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kept = ir.VectorType(context.get_data_type(groups.dtype), n)
        place = _place(context, builder, signature.args[0], args[0], args[1])
        children = builder.load(builder.bitcast(place, kept.as_pointer()), align=4)
        if groups.dtype != types.float64:
            children = builder.fpext(children, ir.VectorType(ir.DoubleType(), n))
        begins = _begins(builder, children)
        behind = builder.fcmp_ordered(">=", _everywhere(builder, args[2], n), begins)
        # Whatever rounding did to the mark, nothing lies before the first.
        others = ir.Constant(ir.VectorType(ir.IntType(1), n), [False] + [True] * (n - 1))
        flags = builder.bitcast(builder.and_(behind, others), ir.IntType(n))
        child = builder.zext(builder.ctpop(flags), ir.IntType(64))
        rest = builder.fsub(args[2], builder.extract_element(begins, child))
        return context.make_tuple(builder, signature.return_type, (child, rest))

    pair = types.Tuple((types.int64, types.float64))  # type: ignore[no-untyped-call]
    return pair(groups, types.intp, types.float64), code


_child: Any = intrinsic(_child_code)


def _fetch_code(typing: Any, rows: Any, row: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        place = _place(context, builder, signature.args[0], args[0], args[1])
        # To be read; into the nearest cache; data, not code.
        builder.call(prefetch, [builder.bitcast(place, pointer), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(rows, types.intp), code


_fetch: Any = intrinsic(_fetch_code)


@overload(child_at, strict=False)
def _child_at(groups: Any, group: Any, mark: Any) -> Any:
    return lambda groups, group, mark: _child(groups, group, mark)


@overload(fetch, strict=False)
def _fetch_row(rows: Any, row: Any) -> Any:
    return lambda rows, row: _fetch(rows, row)


# Sampling from a ring of transitions in compiled code: rows are drawn and gathered in one call.
#
# Batches go along the upper levels of the sum tree and down the others level by level: the rows of
# a level do not wait for each other, and what they need next is fetched meanwhile.


SHIFT: Final = 3  # an eighth
LEAF_SHIFT: Final = 4  # a sixteenth


@inlined
def gather(
    ring: Any, rows: Any, obs_tm1: Any, a_tm1: Any, r_t: Any, obs_t: Any, terminated_t: Any
) -> None:
    """Gather the fields of these rows; see `layout`."""
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
def walked_level(n_levels: int, last: int, n_marks: int) -> int:
    """Return the last level that has no more nodes than there are marks; `last` is the lowest
    node."""
    level = 0
    while level + 1 < n_levels and last >> (SHIFT * (n_levels - 2 - level)) < n_marks:
        level += 1
    return level


@inlined
def walk(tree: Any, begin: int, last: int, marks: Any, nodes: Any) -> None:
    """Find the node of a level in which each mark lies; marks become how far into it.

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
    leaves: Any, tree: Any, starts: Any, last_leaf: int, rng: Any, marks: Any, nodes: Any
) -> None:
    """Find a lowest node for each of `nodes`, one from each of as many equal parts of the total,
    and how far into it."""
    n = len(nodes)
    share = tree[0, 0] / n
    counter = rng[0]
    for i in range(n):
        counter += GAMMA
        marks[i] = (i + unit(counter)) * share
    rng[0] = counter
    lowest, last_node = len(starts) - 1, last_leaf >> LEAF_SHIFT
    top = walked_level(len(starts), last_node, n)
    walk(tree, starts[top], last_node >> (SHIFT * (lowest - top)), marks, nodes)
    for level in range(top + 1, len(starts)):
        # Rounding may put a mark behind all there is; then the last one is meant.
        last = last_node >> (SHIFT * (lowest - level))
        for i in range(n):
            child, marks[i] = child_at(tree, starts[level] + nodes[i], marks[i])
            nodes[i] = min((nodes[i] << SHIFT) + child, last)
            # The group where it goes on is on its way while the others catch up.
            if level < lowest:
                fetch(tree, starts[level + 1] + nodes[i])
            else:
                fetch(leaves, nodes[i])


@compiled
def sample_tree(
    rng: Rng, n_added: int, rows: Rows, leaves: Leaves, tree: Tree, starts: Rows,
    marks: NDArray[np.float64], indices: Rows, weights: NDArray[np.float32], ring: Any,
    obs_tm1: Any, a_tm1: Any, r_t: Any, obs_t: Any, terminated_t: Any,
) -> None:  # fmt: skip
    """Draw a row for each of `rows` by its priority, with w**(1 / beta); see `prioritised`."""
    capacity = len(ring)
    last = min(n_added, capacity) - 1
    descend(leaves, tree, starts, last, rng, marks, rows)
    for i in range(len(rows)):
        child, _ = child_at(leaves, rows[i], marks[i])
        rows[i] = min((rows[i] << LEAF_SHIFT) + child, last)
        fetch(ring, rows[i])
    lap = n_added // capacity * capacity
    least = np.float32(np.inf)
    for i in range(len(rows)):
        weights[i] = leaves[rows[i] >> LEAF_SHIFT, rows[i] & (LEAVES - 1)]
        least = min(least, weights[i])
        index = rows[i] + lap
        indices[i] = index if index < n_added else index - capacity
    for i in range(len(rows)):
        weights[i] = least / weights[i]
    gather(ring, rows, obs_tm1, a_tm1, r_t, obs_t, terminated_t)


@inlined
def total_of(groups: Any, group: int, width: int) -> Any:
    total = np.float64(0.0)  # Python's own 0.0 would become a float32 with the first leaf
    for k in range(width):
        total += groups[group, k]
    return total


@inlined
def sum_leaves(leaves: Any, tree: Any, starts: Any, group: int) -> None:
    """Sum a group of leaves into its node."""
    row = starts[len(starts) - 1] + (group >> SHIFT)
    tree[row, group & (WIDTH - 1)] = total_of(leaves, group, LEAVES)


@inlined
def sum_nodes(tree: Any, starts: Any, level: int, group: int) -> None:
    """Sum a group of a level into its node in the level above."""
    row = starts[level - 1] + (group >> SHIFT)
    tree[row, group & (WIDTH - 1)] = total_of(tree, starts[level] + group, WIDTH)


@compiled
def update_tree(
    leaves: Leaves, tree: Tree, starts: Rows, top: NDArray[np.float64], n_added: int,
    capacity: int, indices: Rows, td_errors: NDArray[np.float32], alpha: float, eps: float,
    nodes: Rows,
) -> int:  # fmt: skip
    """Give the transitions that are still there their new priorities; returns how many are."""
    for i in range(len(indices)):
        if not np.isfinite(td_errors[i]):
            return NOT_FINITE
        if not 0 <= indices[i] < n_added:
            return NEVER_ADDED
    n = 0
    power, least = np.float32(alpha), np.float32(eps)
    for i in range(len(indices)):
        if indices[i] < n_added - capacity:
            continue  # overwritten since
        slot = indices[i] % capacity
        priority = (abs(td_errors[i]) + least) ** power
        leaves[slot >> LEAF_SHIFT, slot & (LEAVES - 1)] = priority
        top[0] = max(top[0], np.float64(priority))
        nodes[n] = slot >> LEAF_SHIFT
        n += 1
    for i in range(n):
        sum_leaves(leaves, tree, starts, nodes[i])
    n_nodes = n
    for level in range(len(starts) - 1, 0, -1):
        n_groups = 0
        for i in range(n_nodes):
            group = nodes[i] >> SHIFT
            # A batch that was drawn is in order: who shares a group stands side by side.
            if n_groups == 0 or group != nodes[n_groups - 1]:
                nodes[n_groups] = group
                n_groups += 1
                sum_nodes(tree, starts, level, group)
        n_nodes = n_groups
    return n


@compiled
def fill_tree(
    leaves: Leaves, tree: Tree, starts: Rows, begin: int, end: int, priority: float
) -> None:
    """Give the slots from `begin` to before `end`, at least one, the same priority."""
    for slot in range(begin, end):
        leaves[slot >> LEAF_SHIFT, slot & (LEAVES - 1)] = priority
    first, last = begin >> LEAF_SHIFT, (end - 1) >> LEAF_SHIFT
    for group in range(first, last + 1):
        sum_leaves(leaves, tree, starts, group)
    for level in range(len(starts) - 1, 0, -1):
        first >>= SHIFT
        last >>= SHIFT
        for group in range(first, last + 1):
            sum_nodes(tree, starts, level, group)
