"""`merging.merge_pairs` for a whole table, in one compiled pass."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.jit import compiled

# Most of a table is as it was. So many entries are looked at together, in vector instructions.
GROUP: Final = 8


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
    n_pairs = len(n)
    for start in range(0, n_pairs, GROUP):
        end = min(start + GROUP, n_pairs)
        if end - start == GROUP:
            news = False
            for i in range(GROUP):
                pair = start + i
                news |= (q_own[pair] != q_seen[pair]) | (n[pair] != seen[pair])
            if not news:
                continue
        for pair in range(start, end):
            n_others = np.uint32(n[pair] - seen[pair])
            if q_own[pair] != q_seen[pair]:
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
            visits[pair] = 0
            q_seen[pair] = q_own[pair]
            seen[pair] = n[pair]
