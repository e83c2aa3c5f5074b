"""`merging.merge_pairs` for a whole table, in one compiled pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rl_impls.jit import compiled


@compiled
def merge_table(
    q: NDArray[np.float32],
    n: NDArray[np.uint32],
    seen: NDArray[np.uint32],
    q_own: NDArray[np.float32],
    q_seen: NDArray[np.float32],
    visits: NDArray[np.uint32],
    steps_per_visit: int,
) -> None:
    """Merge every entry that differs from `q_seen`, take over what others learned, count anew.

    `visits` counts a part of the steps, one of `steps_per_visit`. All arrays are flat.
    """
    for pair in range(len(n)):
        learned = q_own[pair] != q_seen[pair]
        n_others = np.uint32(n[pair] - seen[pair])
        if learned:
            n_own = 1 + steps_per_visit * np.int64(visits[pair])
            if n_others > 0:
                weight = n_own / (n_own + np.float64(n_others))
                q_own[pair] = weight * q_own[pair] + (1.0 - weight) * q[pair]
            q[pair] = q_own[pair]
            n[pair] += np.uint32(n_own)
        elif n_others > 0:
            q_own[pair] = q[pair]
        else:
            continue
        q_seen[pair] = q_own[pair]
        seen[pair] = n[pair]
    visits[:] = 0
