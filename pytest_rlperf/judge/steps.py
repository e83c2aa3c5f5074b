"""Sudden changes in a series of levels whose errors are independent.

Candidates are the optimal segmentation under a penalty (PELT: Killick, Fearnhead & Eckley, J. Am.
Stat. Assoc. 107, 2012), found by ruptures. The penalty is lenient, and what it lets through has to
pass three questions, the weakest candidate first, until all that are left do:

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

from pytest_rlperf.judge.decide import BUILD_LEVEL
from pytest_rlperf.judge.estimate import Estimate
from pytest_rlperf.judge.least_squares import line_through, squares
from pytest_rlperf.judge.reported import reported
from pytest_rlperf.judge.student import t_cdf
from pytest_rlperf.judge.taming import spread
from pytest_rlperf.model.verdict import Interval

LEAST_SEGMENT = 3
"""Points on a level; two may be off together."""
PENALTY = 2.0
"""Times log n, in units of the variance: lenient, since candidates are tested afterwards."""
MATTERS = 0.02
"""Smaller steps are not called, however sure they are."""
FINEST = 2e-4
"""Of a point: sizes may repeat exactly, and no scale is finer than this."""
PLACE_MARGIN = 10.0
"""In units of the variance: places that leave less than this more than the best are possible."""


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
        """Of the steps, one at each bound."""
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
        return [
            line_through((*old, *new)).squares < squares(old) + squares(new)
            for old, new in pairwise(self.segments)
        ]

    def places(self, which: int) -> tuple[int, int]:
        """The first and the last at which this step may be."""
        edges = (0, *self.bounds, len(self.levels))
        start, best, end = edges[which : which + 3]
        left = {
            place: squares(self.levels[start:place]) + squares(self.levels[place:end])
            for place in range(start + 1, end)
        }
        most = left[best] + PLACE_MARGIN * self.variance
        possible = [place for place, squares_left in left.items() if squares_left <= most]
        return possible[0], possible[-1]


def find_steps(levels: Sequence[float], series: int) -> list[Step] | None:
    """`series` are looked at together. None: ruptures is not installed."""
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
    found = model.predict(pen=PENALTY * math.log(len(levels)))
    return tuple(int(bound) for bound in found[:-1])


def _doubts(split: _Split) -> list[float]:
    """How likely each of these steps would be without a change; 1 for what is no step."""
    return [
        1.0 if slope or abs(height.mean) < math.log1p(MATTERS) else _doubt(height)
        for height, slope in zip(split.heights(), split.are_slopes(), strict=True)
    ]


def _doubt(height: Estimate) -> float:
    return 2 * t_cdf(-abs(height.mean) / height.error, height.freedom) if height.error else 0.0
