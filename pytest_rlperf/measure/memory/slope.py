"""How much a series grows from one repeat to the next."""

import statistics
from collections.abc import Sequence

WARM_SHARE = 3
"""One of so many repeats comes before the series counts: caches are filled then."""
LEAST_POINTS = 3


def growth(series: Sequence[float]) -> float | None:
    """The median slope between all pairs of points (Sen, J. Am. Stat. Assoc. 63, 1968), which a
    cache that grows once does not move; None: too few points.
    """
    points = list(enumerate(series))[len(series) // WARM_SHARE :]
    if len(points) < LEAST_POINTS:
        return None
    return statistics.median(
        (later - earlier) / (j - i)
        for k, (i, earlier) in enumerate(points)
        for j, later in points[k + 1 :]
    )
