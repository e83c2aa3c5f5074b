"""A mean, or a straight line, through points that are equally far apart."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    slope: float  # a point
    error: float  # of the slope
    freedom: int
    squares: float  # of what it leaves


def line_through(values: Sequence[float]) -> Line:
    """Three at least, so that something is left to tell the error from."""
    n = len(values)
    if n < 3:
        raise ValueError(f"a line with an error needs at least 3 points, not {n}")
    centre, mean = (n - 1) / 2, statistics.fmean(values)
    spread = n * (n * n - 1) / 12  # of the positions
    slope = math.fsum((i - centre) * value for i, value in enumerate(values)) / spread
    left = math.fsum((v - mean - slope * (i - centre)) ** 2 for i, v in enumerate(values))
    return Line(slope, math.sqrt(left / (n - 2) / spread), n - 2, left)


def squares(values: Sequence[float]) -> float:
    """Around the mean."""
    mean = statistics.fmean(values)
    return math.fsum((value - mean) ** 2 for value in values)
