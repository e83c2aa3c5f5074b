"""The mean of what ranks learned of each entry, weighed by visits (Woo, Joshi & Chi, JMLR 2025).

With Q_i the value at rank i, n_i its visits there since the last exchange and B the agreed value
before, sum(n_i * Q_i) / sum(n_i) = B + sum(n_i * (Q_i - B)) / sum(n_i). Every rank adds up the same
numbers in the same order, so that all agree bit for bit.

Compiled, since an array operation for each of these lines took ten times as long.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.jit import compiled
from rl_impls.mpi.compression import Values
from rl_impls.mpi.deltas import Counts, Places

Weights = NDArray[np.float64]
# Most of a table is as it was. So many entries are looked at together, in vector instructions.
GROUP: Final = 8


@compiled
def cut_changed(
    q: Values,
    mark: Values,
    base: Values,
    visits: NDArray[np.uint32],
    places: Places,
    counts: Counts,
    values: Values,
) -> int:
    """places, counts, values <- the entries that differ from `mark`, and their number is returned.

    From then on they are marked and their visits counted anew.
    """
    n = 0
    for start in range(0, len(q), GROUP):
        end = min(start + GROUP, len(q))
        if end - start == GROUP:
            news = False
            for i in range(GROUP):
                news |= q[start + i] != mark[start + i]
            if not news:
                continue
        for place in range(start, end):
            if q[place] != mark[place]:
                places[n] = place
                counts[n] = visits[place]
                values[n] = q[place] - base[place]
                visits[place] = 0
                mark[place] = q[place]
                n += 1
    return n


@compiled
def add_weighed(
    places: Places,
    counts: Counts,
    values: Values,
    steps_per_visit: int,
    sums: Weights,
    weights: Weights,
) -> None:
    """One rank's part of the sums. What changed was visited at least once; one of so many steps is
    counted. Such a weight times a float32 is exact, in whichever way a processor multiplies."""
    for i in range(len(places)):
        weight = 1.0 + steps_per_visit * counts[i]
        sums[places[i]] += weight * values[i]
        weights[places[i]] += weight


@compiled
def take_mean(
    places: Places,
    sums: Weights,
    weights: Weights,
    own_weights: Weights,
    base: Values,
    q: Values,
    mark: Values,
    residual: Values,
    visits: NDArray[np.uint32],
    steps_per_visit: int,
) -> None:
    """Let `base` and `q` go over to the mean at these places, and clear the sums there.

    Where `q` has learned since it was cut it becomes the mean of both, weighed by visits: to add
    what others learned would count twice what several ranks find out at once.
    """
    for place in places:
        weight = weights[place]
        if weight == 0.0:
            continue  # it was in the message of a rank before
        base[place] = base[place] + sums[place] / weight
        n_others = weight - own_weights[place]
        if n_others > 0.0:
            agreed = base[place] + residual[place]
            if q[place] == mark[place]:
                q[place] = mark[place] = agreed
            else:
                n_own = 1.0 + steps_per_visit * visits[place]
                q[place] = (n_own * q[place] + n_others * agreed) / (n_own + n_others)
        sums[place] = weights[place] = own_weights[place] = 0.0
        residual[place] = 0.0
