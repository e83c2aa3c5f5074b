"""Putting together what processes learned apart: each entry is the mean, weighed by visits.

With Q_i the value of an entry at worker i and n_i its visits there since the last merge, the merged
value is sum(n_i * Q_i) / sum(n_i). Workers merge one after another, and the shared table remembers
how often an entry was learned in all; what a worker has not seen of that is the others' weight:

    q <- (n_own * Q_own + n_others * q) / (n_own + n_others)

which, worker by worker and in any order, comes to the same mean. No worker waits for another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Pairs = NDArray[np.intp]  # places in the flat table: state * n_actions + action


def merge_pairs(
    q: NDArray[np.float32],
    n: NDArray[np.uint32],
    seen: NDArray[np.uint32],
    own: Pairs,
    n_own: NDArray[np.uint32],
    q_own: NDArray[np.float64],
) -> Pairs:
    """Merge the entries `own` into the flat table `q`; returns the entries that others learned.

    Counts may wrap around: only their differences are used. `seen` becomes `n`.
    """
    others = np.flatnonzero(n != seen)
    n_others = (n[own] - seen[own]).astype(np.float64)
    q[own] = (n_own * q_own + n_others * q[own]) / (n_own + n_others)
    n[own] += n_own
    seen[own] = n[own]
    seen[others] = n[others]
    return others
