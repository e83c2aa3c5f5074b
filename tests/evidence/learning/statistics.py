"""Estimates from few seeds (Agarwal et al., 2021, "Deep reinforcement learning at the edge of the
statistical precipice"): interquartile means, stratified bootstrap intervals, and the probability of
improvement.

A stratum is a task: its seeds are drawn anew, with replacement, and those of no other for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]  # one a seed
N_DRAWS: Final = 4000
LEVEL: Final = 0.95


class Estimate(NamedTuple):
    value: float
    low: float
    high: float


def interquartile_mean(scores: Scores) -> Scores:
    """The mean without the lowest and the highest quarter, along the last axis."""
    ordered = np.sort(scores, axis=-1)
    n = ordered.shape[-1]
    cut = n // 4
    return np.asarray(ordered[..., cut : n - cut].mean(axis=-1))


def joined_mean(tasks: Sequence[Scores]) -> Estimate:
    """The interquartile mean over the runs of all tasks, with its interval."""
    return _bootstrapped(tasks, lambda strata: interquartile_mean(np.concatenate(strata, axis=-1)))


def probability_of_improvement(pairs: Sequence[tuple[Scores, Scores]]) -> Estimate:
    """How likely a run of the first side is better than one of the second, a tie counted half: the
    mean over tasks."""
    n = len(pairs)

    def statistic(strata: Sequence[Scores]) -> Scores:
        wins = [_wins(ours, theirs) for ours, theirs in zip(strata[:n], strata[n:], strict=True)]
        return np.asarray(np.mean(wins, axis=0))

    return _bootstrapped([side for sides in zip(*pairs, strict=True) for side in sides], statistic)


def _wins(ours: Scores, theirs: Scores) -> Scores:
    by = np.sign(ours[..., :, None] - theirs[..., None, :])
    return np.asarray(0.5 + 0.5 * by.mean(axis=(-2, -1)))


def _bootstrapped(
    strata: Sequence[Scores], statistic: Callable[[Sequence[Scores]], Scores]
) -> Estimate:
    rng = np.random.default_rng(0)  # the same table every time
    drawn = [scores[rng.integers(len(scores), size=(N_DRAWS, len(scores)))] for scores in strata]
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(statistic(drawn), [tail, 1.0 - tail])
    return Estimate(float(statistic(strata)), float(low), float(high))
