"""The sum tree of a prioritised replay: what `kernels` and `plain` agree on.

A node has eight children, which fill a cache line: the way down to one of 1 M leaves is seven lines
long and not twenty. The tree is an array of such groups, (n, 8), level by level from the root,
which is the first number of its group; node i of a level has group i of the next level as its
children. It is always their sum, computed anew and never by adding a difference, so that no error
of rounding stays behind. Slots that hold nothing are zero, and lie behind all that hold something.

The way down compares a mark with where the children end: the sums of the first one, two, ... eight
of them. For the groups above the leaves these are kept, in as many groups before the root's.

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
    """The groups, and which of them begins each level: the root's first, the leaves' last.

    Where the children of group g above the leaves end is in group g - starts[0].
    """
    n_groups = [-(-capacity // WIDTH)]
    while n_groups[0] > 1:
        n_groups.insert(0, -(-n_groups[0] // WIDTH))
    n_groups.insert(0, 1)
    n_above = sum(n_groups[:-1])
    starts = n_above + np.cumsum([0, *n_groups[:-1]])
    return aligned_zeros((n_above + sum(n_groups), WIDTH), np.float64), starts


def nodes_of(tree: Tree, starts: Rows, level: int) -> NDArray[np.float64]:
    """The nodes from the beginning of a level on; a view."""
    return tree[starts[level] :].reshape(-1)


def sum_level(tree: Tree, starts: Rows, level: int, first: int, last: int) -> None:
    """Sum the groups of a level from `first` to `last` into the level above it."""
    begin, end = starts[level] + first, starts[level] + last + 1
    # Child by child, which is the order of compiled code; NumPy's own sum has another one.
    ends = np.cumsum(tree[begin:end], axis=1)
    if level < len(starts) - 1:
        tree[begin - starts[0] : end - starts[0]] = ends
    nodes_of(tree, starts, level - 1)[first : last + 1] = ends[:, -1]
