"""Change points: sudden steps in a series of levels whose errors are independent.

First, single points far off their neighbours are moved to where they do no harm (`tamed`). Then
candidates are the optimal segmentation under a penalty (PELT: Killick, Fearnhead & Eckley, J. Am.
Stat. Assoc. 107, 2012), found by ruptures (`find_steps`). The penalty is lenient, and what it lets
through has to pass three questions, the weakest candidate first, until all that are left do:

- Is the difference of the levels beyond doubt? Student's t with the variance within all segments,
  corrected for the places where a step could be and for the series that are looked at (Bonferroni).
- Is it a step at all? Where a straight line through both segments leaves less than two levels do,
  it is a slope, and whatever commit the step was put at would be the wrong one (see `creep`).
- Is it large enough to care?

The place of a step is known as well as the data allow: every place at which it would leave hardly
more than at the best one is possible, and the two commits that are named enclose them all.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import NormalDist

from pytest_rlperf.model.metric import Interval
from pytest_rlperf.stats.decide import BUILD_LEVEL, reported
from pytest_rlperf.stats.estimate import Estimate, t_cdf


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line by least squares through points that are equally far apart."""

    slope: float  # a point
    error: float  # of the slope
    freedom: int
    squares: float  # sum of the squared residuals


def line_through(values: Sequence[float]) -> Line:
    """Fit a line to three points at least, so that something is left to tell the error from."""
    n = len(values)
    if n < 3:
        raise ValueError(f"a line with an error needs at least 3 points, not {n}")
    centre, mean = (n - 1) / 2, statistics.fmean(values)
    spread = n * (n * n - 1) / 12  # of the positions
    slope = math.fsum((i - centre) * value for i, value in enumerate(values)) / spread
    residual = math.fsum((v - mean - slope * (i - centre)) ** 2 for i, v in enumerate(values))
    return Line(slope, math.sqrt(residual / (n - 2) / spread), n - 2, residual)


def squares(values: Sequence[float]) -> float:
    """Return the sum of squares around the mean."""
    mean = statistics.fmean(values)
    return math.fsum((value - mean) ** 2 for value in values)


# -- outliers ------------------------------------------------------------------------------------

REACH = 2
"""Neighbours on each side that a point is compared with."""
FARTHEST = 3.0
"""The distance from their median that a point may have, in standard deviations."""


def tamed(levels: Sequence[float]) -> list[float]:
    """Return the levels with single points that are far off moved nearer to their neighbours.

    Now and then a whole run is off, whatever the unit it is measured in. Of two such runs in fifty
    a search for steps makes a change and its end: with one run in thirty off by 15 %, one history
    of unchanged code in three. Moved as here, one in forty (see `tests.history.trend_rates`). A
    step stays one, since the neighbours are on it too.
    """
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
    """Return the standard deviation of a point, from differences of neighbours: few hold a step."""
    differences = [b - a for a, b in pairwise(levels)]
    centre = statistics.median(differences)
    typical = statistics.median(abs(each - centre) for each in differences)
    return typical / NormalDist().inv_cdf(0.75) / math.sqrt(2)


# -- steps ---------------------------------------------------------------------------------------

LEAST_SEGMENT = 3
"""Points that a level has at least; two may be off together."""
PENALTY = 2.0
"""A step costs this times log n variances: lenient, since candidates are tested afterwards."""
MATTERS = 0.02
"""Smaller steps are not called, however sure they are."""
FINEST = 2e-4
"""The least spread of a point: sizes may repeat exactly, and no scale is finer than this."""
PLACE_MARGIN = 10.0
"""Places that leave this many variances more than the best one, or fewer, are possible."""


@dataclass(frozen=True, slots=True)
class Step:
    """A change of level at `index`, the first point of the new one, or somewhere in a range."""

    index: int
    earliest: int
    latest: int
    change: Interval


@dataclass(frozen=True, slots=True)
class _Split:
    """The levels in segments, each around a level of its own."""

    levels: Sequence[float]
    bounds: tuple[int, ...]  # first points of all segments but the first

    @property
    def segments(self) -> list[Sequence[float]]:
        return [self.levels[a:b] for a, b in pairwise((0, *self.bounds, len(self.levels)))]

    @property
    def freedom(self) -> int:
        return len(self.levels) - len(self.bounds) - 1

    @property
    def variance(self) -> float:
        return sum(map(squares, self.segments)) / self.freedom

    def without(self, which: int) -> "_Split":
        return replace(self, bounds=self.bounds[:which] + self.bounds[which + 1 :])

    def heights(self) -> list[Estimate]:
        """Return the height of the step at each bound, with its error."""
        variance = self.variance
        return [
            Estimate(
                statistics.fmean(new) - statistics.fmean(old),
                math.sqrt(variance * (1 / len(old) + 1 / len(new))),
                self.freedom,
            )
            for old, new in pairwise(self.segments)
        ]

    def are_slopes(self) -> list[bool]:
        """Return for each bound whether a line fits both its segments better than two levels."""
        return [
            line_through((*old, *new)).squares < squares(old) + squares(new)
            for old, new in pairwise(self.segments)
        ]

    def places(self, which: int) -> tuple[int, int]:
        """Return the first and the last place at which this step may be."""
        edges = (0, *self.bounds, len(self.levels))
        start, best, end = edges[which : which + 3]
        residuals = {
            place: squares(self.levels[start:place]) + squares(self.levels[place:end])
            for place in range(start + 1, end)
        }
        most = residuals[best] + PLACE_MARGIN * self.variance
        possible = [place for place, residual in residuals.items() if residual <= most]
        return possible[0], possible[-1]


def find_steps(levels: Sequence[float], series: int) -> list[Step] | None:
    """Return the steps that hold where `series` are looked at together; None without ruptures."""
    if len(levels) < 2 * LEAST_SEGMENT:
        return []
    bounds = _candidates(levels)
    if bounds is None:
        return None
    split = _Split(levels, bounds)
    while split.bounds:
        doubts = _doubts(split)
        worst = max(range(len(doubts)), key=doubts.__getitem__)
        if doubts[worst] * (len(levels) - 1) * series <= BUILD_LEVEL:
            break
        split = split.without(worst)
    return [
        Step(bound, *split.places(which), reported(height))
        for which, (bound, height) in enumerate(zip(split.bounds, split.heights(), strict=True))
    ]


def _candidates(levels: Sequence[float]) -> tuple[int, ...] | None:
    try:
        import numpy as np
        import ruptures
    except ImportError:
        return None
    signal = np.asarray(levels).reshape(-1, 1) / max(spread(levels), FINEST)
    model = ruptures.KernelCPD(kernel="linear", min_size=LEAST_SEGMENT).fit(signal)
    ends = model.predict(pen=PENALTY * math.log(len(levels)))
    return tuple(int(end) for end in ends[:-1])


def _doubts(split: _Split) -> list[float]:
    """Return how likely each of these steps would be without a change; 1 for what is no step."""
    return [
        1.0 if slope or abs(height.mean) < math.log1p(MATTERS) else _doubt(height)
        for height, slope in zip(split.heights(), split.are_slopes(), strict=True)
    ]


def _doubt(height: Estimate) -> float:
    return 2 * t_cdf(-abs(height.mean) / height.error, height.freedom) if height.error else 0.0
