"""A test's time in reference units: its ratio to a kernel, or to the mix that tracks it best."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence

from pytest_rlperf.judge.estimate import TRIMMED_SHARE, paired
from pytest_rlperf.model.block import Block, LogRatios

CLOCK = "clock"
"""Not a kernel but the wall clock: what a test that waits is measured in."""

KernelRatios = Mapping[str, LogRatios]
Weights = Mapping[str, float]
Rows = Sequence[Sequence[float]]
"""Log-ratios, blocks by kernels."""
Mix = Mapping[int, float]
"""Weights by the kernel's place in a row."""

SMALL_WEIGHT = 0.1
"""A kernel of less weight is not worth the slices it takes."""
CLEARLY_BETTER = 0.7
SWEEPS = 200
FLAT = 1e-12


def kernel_ratios(block: Block) -> dict[str, LogRatios]:
    """One block's log-ratios to each kernel, and to a nanosecond of the clock."""
    if block.reference is None:
        raise ValueError("this block was measured without the reference kernels")
    head = [own / block.head.calls for own in block.head.own_ns]
    clock = paired(head, [1.0] * len(head))
    kernels = block.reference.call_ns.items()
    return {CLOCK: clock, **{name: paired(head, times) for name, times in kernels}}


def combined(ratios: KernelRatios, weights: Weights) -> LogRatios:
    """The log-ratio to the weighted mix: a weighted geometric mean of kernels is the unit."""
    return LogRatios(
        sum(weight * ratios[name].median for name, weight in weights.items()),
        sum(weight * ratios[name].total for name, weight in weights.items()),
    )


def fit_weights(
    blocks: Sequence[KernelRatios], besides: frozenset[str] = frozenset()
) -> dict[str, float]:
    """The kernel, or the mix of kernels, whose ratio varied least over the blocks.

    The blocks must have seen the machine in several states, or there is nothing to learn from. A
    mix has more freedom to fit noise, so it must be clearly better than the best kernel, and in
    blocks that it was not fitted to.
    """
    names = sorted(set.intersection(*(set(block) for block in blocks)) - besides)
    rows = [[block[name].median for name in names] for block in blocks]
    best, mix = _best_kernel(rows), _best_mix(rows)
    if _unforeseen(rows, _best_mix) >= CLEARLY_BETTER * _unforeseen(rows, lambda _: best):
        mix = best
    return {names[i]: weight for i, weight in mix.items()}


def spread(blocks: Sequence[KernelRatios], weights: Weights) -> float:
    """Of the ratio to a mix, over blocks. Not trimmed: blocks in which the mix did not follow the
    test through a disturbance are what it is asked for.
    """
    return statistics.stdev(combined(block, weights).median for block in blocks)


def _unforeseen(rows: Rows, fit: Callable[[Rows], Mix]) -> float:
    """How far a block lies off the others, in the mix that those call for: root mean square over
    all blocks but the wildest, which would decide alone.
    """
    off = []
    for i, row in enumerate(rows):
        others = [*rows[:i], *rows[i + 1 :]]
        mix = fit(others)
        centre = statistics.median(_mixed(other, mix) for other in others)
        off.append(abs(_mixed(row, mix) - centre))
    kept = sorted(off)[: len(off) - math.ceil(len(off) * TRIMMED_SHARE)]
    return math.sqrt(statistics.fmean(x * x for x in kept))


def _mixed(row: Sequence[float], mix: Mix) -> float:
    return sum(weight * row[i] for i, weight in mix.items())


def _telling(rows: Rows) -> Rows:
    """Of blocks by kernels, those that tell kernels apart. Where the ratios to all of them are off
    in one direction, the test itself had good or bad luck; one such block, far off, would favour
    whichever kernel happened to be off the other way.
    """
    centres: list[float] = [statistics.median(column) for column in zip(*rows, strict=True)]

    def own_luck(row: Sequence[float]) -> float:
        apart = [x - centre for x, centre in zip(row, centres, strict=True)]
        return max(min(apart), -max(apart), 0.0)

    return sorted(rows, key=own_luck)[: len(rows) - int(len(rows) * TRIMMED_SHARE)]


def _covariance(rows: Rows) -> list[list[float]]:
    columns = list(zip(*_telling(rows), strict=True))
    return [[statistics.covariance(a, b) for b in columns] for a in columns]


def _best_kernel(rows: Rows) -> Mix:
    covariance = _covariance(rows)
    return {min(range(len(covariance)), key=lambda i: covariance[i][i]): 1.0}


def _best_mix(rows: Rows) -> Mix:
    """Without the kernels whose weight is too small the others are fitted anew: to stretch them
    would make the mix bear a neighbour differently.
    """
    covariance = _covariance(rows)
    kept = list(range(len(covariance)))
    while True:
        part = [[covariance[i][j] for j in kept] for i in kept]
        mix = dict(zip(kept, _least_variance(part), strict=True))
        if min(mix.values()) >= SMALL_WEIGHT:
            return mix
        kept = [i for i, weight in mix.items() if weight >= SMALL_WEIGHT]


def _least_variance(covariance: Sequence[Sequence[float]]) -> list[float]:
    """Minimise w'Cw on the simplex: move weight between two at a time, each time as far as best."""
    size = len(covariance)
    best = min(range(size), key=lambda i: covariance[i][i])
    weights = [float(i == best) for i in range(size)]
    for _ in range(SWEEPS):
        moved = 0.0
        for i in range(size):
            for j in range(i):
                moved += _exchange(covariance, weights, i, j)
        if moved < FLAT:
            break
    return weights


def _exchange(covariance: Sequence[Sequence[float]], weights: list[float], i: int, j: int) -> float:
    slope = sum((covariance[i][k] - covariance[j][k]) * w for k, w in enumerate(weights))
    curvature = covariance[i][i] + covariance[j][j] - 2 * covariance[i][j]
    if curvature <= 0:
        return 0.0
    step = max(-weights[i], min(weights[j], -slope / curvature))
    weights[i] += step
    weights[j] -= step
    return abs(step)
