"""The sum tree of a prioritised replay: what `kernels` and `plain` agree on.

A node has eight children, which fill a cache line: the way down to one of 1 M leaves is seven lines
long and not twenty. The tree is an array of such groups, (n, 8), level by level from the root,
which is the first number of the first group; node i of a level has group i of the next level as its
children. It is always their sum, computed anew and never by adding a difference, so that no error
of rounding stays behind. Slots that hold nothing are zero, and lie behind all that hold something.

The marks of a batch ascend. So the upper levels are not gone down: one pass along the last level
that has no more nodes than there are marks finds the nodes of all of them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.replay.layout import aligned_zeros

Rows = NDArray[np.int64]
Rng = NDArray[np.uint64]
Tree = NDArray[np.float64]

WIDTH: Final = 8  # children of a node
# Instead of a count of updated rows.
NOT_FINITE: Final = -1
NEVER_ADDED: Final = -2


def empty_tree(capacity: int) -> tuple[Tree, Rows]:
    """The groups, and which of them begins each level: the root's first, the leaves' last."""
    n_groups = [-(-capacity // WIDTH)]
    while n_groups[0] > 1:
        n_groups.insert(0, -(-n_groups[0] // WIDTH))
    n_groups.insert(0, 1)
    starts = np.cumsum([0, *n_groups[:-1]])
    return aligned_zeros((sum(n_groups), WIDTH), np.float64), starts


def nodes_of(tree: Tree, starts: Rows, level: int) -> NDArray[np.float64]:
    """The nodes from the beginning of a level on; a view."""
    return tree[starts[level] :].reshape(-1)


def sum_level(tree: Tree, starts: Rows, level: int, first: int, last: int) -> None:
    """Sum the groups of a level from `first` to `last` into the level above it."""
    groups = tree[starts[level] + first : starts[level] + last + 1]
    total = groups[:, 0].copy()
    # Child by child, which is the order of compiled code; NumPy's own sum has another one.
    for child in range(1, WIDTH):
        total += groups[:, child]
    nodes_of(tree, starts, level - 1)[first : last + 1] = total
