"""From a block's slices to its log-ratios, and from blocks to an interval.

Blocks are the only independent observations: slices of a block share its memory layout and its
minute, and counting them as n would make every interval far too narrow.

Now and then a process has bad luck with its layout for as long as it lives: of 912 blocks of
byte-identical pure Python code, 18 were off by more than 10 % and 5 by more than 40 %. So blocks
are averaged by the trimmed mean, with the interval of Tukey and McLaughlin (Sankhya A 25, 1963):
winsorised variance, t with the degrees of freedom of the blocks that are left. Resampled from
measured blocks, its one-sided 1 % limits missed in 0.1-1.8 % at 8 to 24 blocks, and where there was
such a block it was down to a tenth as wide as the plain t interval.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from pytest_rlperf.judge.student import t_quantile
from pytest_rlperf.model.block import LEAST_BLOCKS, Block, LogRatios

TRIMMED_SHARE = 1 / 6
"""Cut from each end: one block of six, two of twelve."""
OUTER_PART = 3
"""A third of a block's pairs at each end is left out: they may be disturbed."""
ENOUGH_FOR_NEIGHBOURS = 8

Pair = tuple[float, float]  # head's time and the partner's


def log_ratios(block: Block) -> LogRatios:
    """The typical pairs resist disturbed slices; only the sums see a slowdown of a few calls."""
    assert block.base is not None
    return paired(block.head.own_ns, block.base.own_ns)


def paired(head: Sequence[float], partner: Sequence[float]) -> LogRatios:
    """The log-ratios of slices that were played in pairs."""
    pairs = list(zip(head, partner, strict=True))
    return LogRatios(_log_ratio(_typical(pairs)), _log_ratio(pairs))


def _typical(pairs: Sequence[Pair]) -> list[Pair]:
    """The middle third of neighbours taken together. Where every second call does more, the median
    of single pairs would lie anywhere between those that do and those that do not.
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


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over blocks with its standard error (log scale)."""

    mean: float
    error: float
    freedom: int  # degrees of freedom of `error`
    blur: float = 0.0  # standard error of what is compared with, known beforehand

    def bound(self, confidence: float, blur_errors: float | None = None) -> float:
        """One-sided: the true value lies above it with probability 1 - `confidence`. Of the blur,
        `blur_errors` standard errors are reckoned with, or as many as the confidence asks for.
        """
        if blur_errors is None:
            blur_errors = NormalDist().inv_cdf(confidence)
        of_blocks = t_quantile(confidence, self.freedom) * self.error
        away = math.hypot(of_blocks, blur_errors * self.blur)
        return self.mean + math.copysign(away, confidence - 0.5)

    def excludes_zero(self, confidence: float) -> bool:
        return abs(self.mean) > t_quantile((1 + confidence) / 2, self.freedom) * self.error


def freedom(blocks: int) -> int:
    """Degrees of freedom of an estimate over so many blocks."""
    return blocks - 2 * _cut(blocks) - 1


def _cut(blocks: int) -> int:
    return int(blocks * TRIMMED_SHARE)


def estimate(values: Sequence[float]) -> Estimate:
    """Trimmed mean of `values`, its standard error from the winsorised variance."""
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
