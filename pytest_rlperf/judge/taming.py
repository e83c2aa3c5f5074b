"""Single points far off their neighbours, moved to where they do no harm.

Now and then a whole run is off, whatever the unit it is measured in. Of two such runs in fifty a
search for steps makes a change and its end: with one run in thirty off by 15 %, one history of
unchanged code in three. Moved as here, one in forty (see `tests.judge.trend_rates`). A step stays
one, since the neighbours are on it too.
"""

import math
import statistics
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist

REACH = 2
"""Neighbours on each side."""
FARTHEST = 3.0
"""From their median, in standard deviations."""


def tamed(levels: Sequence[float]) -> list[float]:
    if len(levels) <= REACH:
        return list(levels)
    most = FARTHEST * spread(levels)
    return [
        _clipped(level, statistics.median(levels[max(0, i - REACH) : i + REACH + 1]), most)
        for i, level in enumerate(levels)
    ]


def _clipped(level: float, centre: float, most: float) -> float:
    return min(max(level, centre - most), centre + most)


def spread(levels: Sequence[float]) -> float:
    """Of a point, from the differences of neighbours: few of those hold a step."""
    apart = [b - a for a, b in pairwise(levels)]
    centre = statistics.median(apart)
    typical = statistics.median(abs(each - centre) for each in apart)
    return typical / NormalDist().inv_cdf(0.75) / math.sqrt(2)
