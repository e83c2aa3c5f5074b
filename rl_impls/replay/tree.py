"""The sum tree of a prioritised replay: what `kernels` and `plain` agree on.

A node has eight children, a lowest one sixteen leaves: either fill a cache line, so that the way
down to one of 1 M leaves is seven lines long and not twenty. Leaves are an array (n, 16) of float32
numbers, which priorities are by birth. All above are an array (n, 8) of float64 numbers, level by
level from the root, which is the first number of the first group; node i of a level has group i of
the next level as its children, and of the last level group i of the leaves. It is always their sum,
computed anew and never by adding a difference, so that no error of rounding stays behind. Slots
that hold nothing are zero, and lie behind all that hold something.

The marks of a batch ascend. So the upper levels are not gone down: one pass along the last level
that has no more nodes than there are marks finds the nodes of all of them.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.replay.layout import aligned_zeros

Rows = NDArray[np.int64]
Rng = NDArray[np.uint64]
Leaves = NDArray[np.float32]
Tree = NDArray[np.float64]

WIDTH: Final = 8  # children of a node
LEAVES: Final = 16  # of a lowest node
# Instead of a count of updated rows.
NOT_FINITE: Final = -1
NEVER_ADDED: Final = -2


def empty_tree(capacity: int) -> tuple[Leaves, Tree, Rows]:
    """The groups of leaves, those of nodes, and which of these begins each level, the root's
    first."""
    n_nodes = [-(-capacity // LEAVES)]
    while n_nodes[0] > 1:
        n_nodes.insert(0, -(-n_nodes[0] // WIDTH))
    ends = np.cumsum([-(-n // WIDTH) for n in n_nodes])
    leaves = aligned_zeros((n_nodes[-1], LEAVES), np.float32)
    return leaves, aligned_zeros((int(ends[-1]), WIDTH), np.float64), np.append(0, ends[:-1])


def nodes_of(tree: Tree, starts: Rows, level: int) -> NDArray[np.float64]:
    """The nodes from the beginning of a level on; a view."""
    return tree[starts[level] :].reshape(-1)


def ends_of(groups: NDArray[Any]) -> NDArray[np.float64]:
    """Where the children of each group end: the sums of the first one, two, ... of them.

    Added in the order of vector instructions, which is not that of NumPy's own `cumsum`.
    """
    ends = groups.astype(np.float64)
    by = 1
    while by < ends.shape[-1]:
        ends[..., by:] += ends[..., :-by].copy()
        by *= 2
    return ends


def totals_of(groups: NDArray[Any]) -> NDArray[np.float64]:
    """The sum of each group, child by child, which is the order of compiled code."""
    totals: NDArray[np.float64] = groups[:, 0].astype(np.float64)
    for child in range(1, groups.shape[1]):
        totals += groups[:, child]
    return totals


def sum_above(leaves: Leaves, tree: Tree, starts: Rows, groups: Rows) -> None:
    """Sum anew every node above these groups of leaves."""
    nodes_of(tree, starts, len(starts) - 1)[groups] = totals_of(leaves[groups])
    for level in range(len(starts) - 1, 0, -1):
        groups = np.unique(groups // WIDTH)
        nodes_of(tree, starts, level - 1)[groups] = totals_of(tree[starts[level] + groups])
