"""Transitions and their priorities as they lie in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray


@dataclass(frozen=True, slots=True)
class Transitions:
    """Many transitions, one array a field; row i of every array is transition i.

    `terminated_t` alone cuts the bootstrap. A truncated transition is stored with the observation
    the episode was cut at, never with the first one of the next episode.
    """

    obs_tm1: NDArray[np.float32]  # (n, obs_size)
    a_tm1: NDArray[Any]  # int64 (n,), or continuous: float32 (n, act_size)
    r_t: NDArray[np.float32]  # (n,)
    obs_t: NDArray[np.float32]  # (n, obs_size)
    terminated_t: NDArray[np.bool_]  # (n,)

    def __post_init__(self) -> None:
        lengths = {len(array) for array in self.arrays()}
        if len(lengths) != 1:
            raise ValueError(f"every field needs the same number of rows, not {sorted(lengths)}")

    @classmethod
    def zeros(cls, n: int, obs_size: int, act_size: int = 0) -> Self:
        """Return room for `n` transitions, with `act_size` numbers an action, or without it the
        number of a discrete one."""
        return cls(**zeros_of(n, obs_size, act_size))

    def arrays(self) -> tuple[NDArray[Any], ...]:
        return (self.obs_tm1, self.a_tm1, self.r_t, self.obs_t, self.terminated_t)

    def columns(self) -> tuple[NDArray[Any], ...]:
        """Return the same memory in one form for both kinds of actions: (n, act_size) or (n, 1)."""
        actions = self.a_tm1 if self.a_tm1.ndim == 2 else self.a_tm1[:, None]
        return (self.obs_tm1, actions, self.r_t, self.obs_t, self.terminated_t)

    def __len__(self) -> int:
        return len(self.r_t)


@dataclass(frozen=True, slots=True)
class PrioritisedTransitions(Transitions):
    """Transitions that a prioritised replay drew."""

    indices: NDArray[np.int64]  # (n,), for `update`
    weights: NDArray[np.float32]  # (n,), of importance, 1 the largest

    @classmethod
    def zeros(cls, n: int, obs_size: int, act_size: int = 0) -> Self:
        return cls(
            **zeros_of(n, obs_size, act_size),
            indices=np.zeros(n, np.int64),
            weights=np.zeros(n, np.float32),
        )


def zeros_of(n: int, obs_size: int, act_size: int) -> dict[str, NDArray[Any]]:
    return {
        "obs_tm1": np.zeros((n, obs_size), np.float32),
        "a_tm1": np.zeros((n, act_size), np.float32) if act_size else np.zeros(n, np.int64),
        "r_t": np.zeros(n, np.float32),
        "obs_t": np.zeros((n, obs_size), np.float32),
        "terminated_t": np.zeros(n, np.bool_),
    }


# How transitions lie in memory.
#
# A ring keeps the fields of a transition side by side, in one row of float32 numbers, and hands out
# batches with an array a field. Random rows of a ring that no cache holds cost what is fetched from
# memory: of one array a field, 256 transitions of 1 M took 17 µs, five times those of 10,000.
#
#     obs_tm1 | obs_t | r_t | terminated_t | a_tm1
#
# An action that is a number takes the room of two, as int64.


LINE: Final = 64  # bytes of a cache line


def aligned_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return zeros that begin with a cache line."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(n_bytes + LINE, np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + n_bytes].view(dtype).reshape(shape)


def row_type(obs_size: int, act_size: int) -> np.dtype[np.void]:
    """Return the fields of a row; kernels find them by the same sums."""
    lanes = 2 * obs_size + 2 + (act_size or 2)
    lanes += lanes % 2
    observation = (np.float32, (obs_size,))
    return np.dtype(
        {
            "names": ["obs_tm1", "obs_t", "r_t", "terminated_t", "a_tm1"],
            "formats": [
                observation, observation, np.float32, np.bool_,
                (np.float32, (act_size,)) if act_size else np.int64,
            ],
            "offsets": [4 * at for at in (
                0, obs_size, 2 * obs_size, 2 * obs_size + 1, 2 * obs_size + 2
            )],
            "itemsize": 4 * padded(lanes),
        }
    )  # fmt: skip


def padded(lanes: int) -> int:
    """Round up to whole lines where that takes at most a third more: a row then begins in no other
    row's line."""
    per_line = LINE // 4
    whole = -(-lanes // per_line) * per_line
    return whole if 3 * whole <= 4 * lanes else lanes


def rows_and_fields(
    n: int, obs_size: int, act_size: int
) -> tuple[NDArray[np.float32], Transitions]:
    """Return `n` rows as numbers, and the same memory as fields."""
    kind = row_type(obs_size, act_size)
    rows = aligned_zeros((n, kind.itemsize // 4), np.float32)
    fields = rows.view(kind)[:, 0]
    return rows, Transitions(*(fields[name] for name in Transitions.__slots__))


# The sum tree of a prioritised replay: what `kernels` and `plain` agree on.
#
# A node has eight children, a lowest one sixteen leaves: either fill a cache line, so that the way
# down to one of 1 M leaves is seven lines long and not twenty. Leaves are an array (n, 16) of
# float32 numbers, which priorities are by birth. All above are an array (n, 8) of float64 numbers,
# level by level from the root, which is the first number of the first group; node i of a level has
# group i of the next level as its children, and of the last level group i of the leaves. It is
# always their sum, computed anew and never by adding a difference, so that no error of rounding
# stays behind. Slots that hold nothing are zero, and lie behind all that hold something.
#
# The marks of a batch ascend. So the upper levels are not gone down: one pass along the last level
# that has no more nodes than there are marks finds the nodes of all of them.


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
    """Return the groups of leaves, those of nodes, and which of these begins each level, the root's
    first."""
    n_nodes = [-(-capacity // LEAVES)]
    while n_nodes[0] > 1:
        n_nodes.insert(0, -(-n_nodes[0] // WIDTH))
    ends = np.cumsum([-(-n // WIDTH) for n in n_nodes])
    leaves = aligned_zeros((n_nodes[-1], LEAVES), np.float32)
    return leaves, aligned_zeros((int(ends[-1]), WIDTH), np.float64), np.append(0, ends[:-1])


def nodes_of(tree: Tree, starts: Rows, level: int) -> NDArray[np.float64]:
    """Return the nodes from the beginning of a level on; a view."""
    return tree[starts[level] :].reshape(-1)


def ends_of(groups: NDArray[Any]) -> NDArray[np.float64]:
    """Return where the children of each group end: the sums of the first one, two, ... of them.

    Added in the order of vector instructions, which is not that of NumPy's own `cumsum`.
    """
    ends = groups.astype(np.float64)
    by = 1
    while by < ends.shape[-1]:
        ends[..., by:] += ends[..., :-by].copy()
        by *= 2
    return ends


def totals_of(groups: NDArray[Any]) -> NDArray[np.float64]:
    """Return the sum of each group, child by child, which is the order of compiled code."""
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
