"""How much a series grows from one repeat to the next."""

import statistics
from collections.abc import Sequence
from itertools import pairwise

WARM_SHARE = 3
"""One of so many repeats comes before the series counts: caches are filled then."""
PARTS = 3


def growth(series: Sequence[float]) -> float | None:
    """The median over three parts of the series, each with its mean growth; None: too few points.

    What grows once, as a cache or a list that is made larger does, shows in one part only. What is
    kept after every fourth call shows in all of them.
    """
    points = series[len(series) // WARM_SHARE :]
    steps = [later - earlier for earlier, later in pairwise(points)]
    if len(steps) < PARTS:
        return None
    ends = [len(steps) * part // PARTS for part in range(PARTS + 1)]
    return statistics.median(statistics.fmean(steps[a:b]) for a, b in pairwise(ends))
