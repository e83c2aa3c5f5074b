"""Estimates: from a block's slices to its log-ratios, and from blocks to a mean with its error.

Blocks are the only independent observations: slices of a block share its memory layout and its
minute, and counting them as n would make every interval far too narrow.

Now and then a process has bad luck with its layout for as long as it lives: of 912 blocks of
byte-identical pure Python code, 18 were off by more than 10 % and 5 by more than 40 %. So blocks
are averaged by the trimmed mean, with the interval of Tukey and McLaughlin (Sankhya A 25, 1963):
winsorised variance, t with the degrees of freedom of the blocks that are left. Resampled from
measured blocks, its one-sided 1 % limits missed in 0.1-1.8 % at 8 to 24 blocks, and where there was
such a block it was down to a tenth as wide as the plain t interval.

Student's t distribution is computed here, by the regularised incomplete beta function: the standard
library has the normal distribution only, and SciPy is 100 MB for two numbers. Continued fraction:
Press et al., Numerical Recipes, 3rd ed., section 6.4 (modified Lentz).
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from pytest_rlperf.model.block import LEAST_BLOCKS, Block, LogRatios

# -- Student's t distribution --------------------------------------------------------------------

TINY = 1e-300
PRECISION = 1e-15
MAX_TERMS = 500


def t_cdf(t: float, df: float) -> float:
    """Return P(T <= t) for T with `df` degrees of freedom."""
    if t * t < df:  # near the middle: the tail's argument would round to one
        return 0.5 + math.copysign(0.5, t) * _incomplete_beta(0.5, df / 2, t * t / (df + t * t))
    tail = 0.5 * _incomplete_beta(df / 2, 0.5, df / (df + t * t))
    return tail if t < 0 else 1 - tail


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """Return the t below which a share `p` of the distribution lies."""
    if not 0 < p < 1 or df <= 0:
        raise ValueError(f"no quantile for p={p}, df={df}")
    if p < 0.5:
        return -t_quantile(1 - p, df)
    low, high = 0.0, 1.0
    while t_cdf(high, df) < p:
        low, high = high, 2 * high
    while high - low > 1e-12 * max(1.0, high):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, df) < p else (low, middle)
    return (low + high) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):  # where the fraction converges fast
        return math.exp(log_front) * _continued_fraction(a, b, x) / a
    return 1 - math.exp(log_front) * _continued_fraction(b, a, 1 - x) / b


def _continued_fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            fraction *= c * d
        if abs(c * d - 1) < PRECISION:
            break
    return fraction


def _away_from_zero(value: float) -> float:
    return value if abs(value) > TINY else TINY


# -- from slices to the log-ratios of a block ----------------------------------------------------

OUTER_PART = 3
"""One part of so many of a block's pairs is left out at each end: they may be disturbed."""
ENOUGH_FOR_NEIGHBOURS = 8

Pair = tuple[float, float]  # head's time and the partner's


def log_ratios(block: Block) -> LogRatios:
    """Return a block's log-ratios: its typical pairs resist disturbed slices, and only the sums see
    a slowdown of a few calls.
    """
    assert block.base is not None
    return paired(block.head.own_ns, block.base.own_ns)


def paired(head: Sequence[float], partner: Sequence[float]) -> LogRatios:
    """Return the log-ratios of slices that were played in pairs."""
    pairs = list(zip(head, partner, strict=True))
    return LogRatios(_log_ratio(_typical(pairs)), _log_ratio(pairs))


def _typical(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the middle third of pairs, neighbours joined. Where every second call does more, the
    median of single pairs would lie anywhere between those that do and those that do not.
    """
    if len(pairs) >= ENOUGH_FOR_NEIGHBOURS:
        pairs = [_together(pairs[i : i + 2]) for i in range(0, len(pairs), 2)]
    cut = len(pairs) // OUTER_PART
    return sorted(pairs, key=lambda pair: pair[0] / pair[1])[cut : len(pairs) - cut]


def _together(pairs: Sequence[Pair]) -> Pair:
    return sum(head for head, _ in pairs), sum(partner for _, partner in pairs)


def _log_ratio(pairs: Sequence[Pair]) -> float:
    head, partner = _together(pairs)
    return math.log(head / partner)


# -- from blocks to an estimate ------------------------------------------------------------------

TRIMMED_SHARE = 1 / 6
"""Cut from each end: one block of six, two of twelve."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over blocks with its standard error (log scale)."""

    mean: float
    error: float
    freedom: int  # degrees of freedom of `error`
    blur: float = 0.0  # standard error of what is compared with, known beforehand

    def bound(self, confidence: float, blur_errors: float | None = None) -> float:
        """Return a one-sided bound: the true value lies above it with probability 1 - `confidence`.
        It reckons with `blur_errors` standard errors of blur, or as many as the confidence asks.
        """
        if blur_errors is None:
            blur_errors = NormalDist().inv_cdf(confidence)
        block_margin = t_quantile(confidence, self.freedom) * self.error
        margin = math.hypot(block_margin, blur_errors * self.blur)
        return self.mean + math.copysign(margin, confidence - 0.5)

    def excludes_zero(self, confidence: float) -> bool:
        return abs(self.mean) > t_quantile((1 + confidence) / 2, self.freedom) * self.error


def freedom(blocks: int) -> int:
    """Return the degrees of freedom of an estimate over so many blocks."""
    return blocks - 2 * _cut(blocks) - 1


def _cut(blocks: int) -> int:
    return int(blocks * TRIMMED_SHARE)


def estimate(values: Sequence[float]) -> Estimate:
    """Return the trimmed mean of `values`, with the standard error of the winsorised variance."""
    n = len(values)
    if n < LEAST_BLOCKS:
        raise ValueError(f"an interval needs at least {LEAST_BLOCKS} blocks, not {n}")
    cut = _cut(n)
    kept = sorted(values)[cut : n - cut]
    winsorised = [kept[0]] * cut + kept + [kept[-1]] * cut
    # Not statistics.variance: its exact fractions take five times as long, for the last digit.
    centre = statistics.fmean(winsorised)
    squares = math.fsum((value - centre) ** 2 for value in winsorised)
    left = len(kept)
    error = math.sqrt(squares / (left * (left - 1)))
    return Estimate(statistics.fmean(kept), error, freedom(n))
