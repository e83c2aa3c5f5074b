"""The last few points of a series against those before."""

import math
import statistics
from collections.abc import Sequence

from pytest_rlperf.judge.creep import weighted_sum
from pytest_rlperf.judge.estimate import Estimate
from pytest_rlperf.judge.least_squares import squares
from pytest_rlperf.judge.reported import reported
from pytest_rlperf.judge.series import Series
from pytest_rlperf.model.trend import Recent, Signal

LAST = 3


def recent_of(series: Series) -> Recent | None:
    """None: there is nothing before them."""
    earlier, last = series.levels[:-LAST], series.levels[-LAST:]
    if not earlier:
        return None
    change = statistics.fmean(last) - statistics.fmean(earlier)
    links = [point.link for point in series.points if point.link is not None]
    if series.signal is Signal.CLOCK:
        interval = None
    elif links:
        interval = reported(weighted_sum(links, _weights(len(links))))
    else:
        interval = reported(_of_levels(change, earlier, last))
    return Recent(len(last), len(earlier), math.expm1(change), interval)


def _of_levels(change: float, earlier: Sequence[float], last: Sequence[float]) -> Estimate:
    """With the variance around both means."""
    free = len(earlier) + len(last) - 2
    variance = (squares(earlier) + squares(last)) / free
    return Estimate(change, math.sqrt(variance * (1 / len(earlier) + 1 / len(last))), free)


def _weights(number: int) -> list[float]:
    """Of each link in the difference: a level is the sum of the links up to it."""
    early = number - LAST
    return [
        min(LAST, number - link) / LAST - max(0, early - link) / early for link in range(number)
    ]
