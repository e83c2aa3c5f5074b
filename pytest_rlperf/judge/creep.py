"""Slow creep: many small changes that each pass, and together are more than one may be.

Only windows that end at the newest commit are looked at: the whole, its last half, the half of that
and so on, because a creep of twenty commits is lost in two hundred, and few windows need little
correction. A creep is reported where it is beyond doubt that the level rose at all, and the rise
comes to more than is allowed of a single change. The doubt is that of a build, corrected for the
windows and for the series that are looked at (Bonferroni).

Levels with errors of their own: the slope of a straight line, by least squares.

A chain of duets: the sum of its changes. The errors of its links add up as they do, with the
degrees of freedom of Welch and Satterthwaite (Biometrics Bull. 2, 1946). A change that its own run
called is known already, and left out of the sum.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_rlperf.judge.decide import BUILD_LEVEL
from pytest_rlperf.judge.estimate import Estimate
from pytest_rlperf.judge.least_squares import line_through
from pytest_rlperf.judge.reported import reported
from pytest_rlperf.judge.student import t_cdf
from pytest_rlperf.model.verdict import Interval

SHORTEST = 8
"""Points or links. A faster rise than of half the allowed change a commit is a step, or two."""


@dataclass(frozen=True, slots=True)
class Rise:
    """From the point or link `start` to the last."""

    start: int
    change: Interval


def creep_of_levels(levels: Sequence[float], allowed: float, series: int) -> Rise | None:
    windows = list(_windows(len(levels)))
    for start in windows:
        line = line_through(levels[start:])
        apart = len(levels) - 1 - start
        total = Estimate(line.slope * apart, line.error * apart, line.freedom)
        if _is_rise(total, allowed, series * len(windows)):
            return Rise(start, reported(total))
    return None


def creep_of_links(links: Sequence[Estimate], allowed: float, series: int) -> Rise | None:
    windows = list(_windows(len(links)))
    for start in windows:
        total = weighted_sum(links[start:], [1.0] * (len(links) - start))
        if _is_rise(total, allowed, series * len(windows)):
            return Rise(start, reported(total))
    return None


def _windows(number: int) -> Iterator[int]:
    """Where each begins, the longest first."""
    length = number
    while length >= SHORTEST:
        yield number - length
        length //= 2


def _is_rise(total: Estimate, allowed: float, looks: int) -> bool:
    if total.mean <= math.log1p(allowed):
        return False
    doubt = t_cdf(-total.mean / total.error, total.freedom) if total.error else 0.0
    return doubt * looks <= BUILD_LEVEL


def weighted_sum(links: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """Of independent estimates."""
    pairs = list(zip(links, weights, strict=True))
    parts = [(w * link.error) ** 2 for link, w in pairs]
    variance = math.fsum(parts)
    doubts = math.fsum(part**2 / link.freedom for part, (link, _) in zip(parts, pairs, strict=True))
    free = int(variance**2 / doubts) if doubts else sum(link.freedom for link in links)
    return Estimate(
        math.fsum(w * link.mean for link, w in pairs), math.sqrt(variance), max(1, free)
    )
