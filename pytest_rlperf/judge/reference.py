"""A test's time in reference units: its ratio to a kernel, or to the mix that tracks it best."""

import statistics
from collections.abc import Mapping, Sequence

from pytest_rlperf.judge.estimate import TRIMMED_SHARE, paired
from pytest_rlperf.model.block import Block, LogRatios

CLOCK = "clock"
"""Not a kernel but the wall clock: what a test that waits is measured in."""

KernelRatios = Mapping[str, LogRatios]
Weights = Mapping[str, float]

SMALL_WEIGHT = 0.1
"""A kernel of less weight is not worth the slices it takes."""
CLEARLY_BETTER = 0.7
SWEEPS = 200
FLAT = 1e-12


def kernel_ratios(block: Block) -> dict[str, LogRatios]:
    """One block's log-ratios to each kernel that it played, and to a nanosecond of the clock."""
    if block.reference is None:
        raise ValueError("this block was measured without the reference kernels")
    head = [own / block.head.calls for own in block.head.own_ns]
    found = {CLOCK: paired(head, [1.0] * len(head))}
    for kernel in dict.fromkeys(block.reference.kernels):
        pairs = zip(block.reference.kernels, head, block.reference.call_ns, strict=True)
        mine = [(h, k) for name, h, k in pairs if name == kernel]
        found[kernel] = paired([h for h, _ in mine], [k for _, k in mine])
    return found


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
    mix has more freedom to fit noise, so it must be clearly better than the best of its parts.
    """
    names = sorted(set.intersection(*(set(block) for block in blocks)) - besides)
    covariance = _covariance(_telling([[b[n].median for n in names] for b in blocks]))
    best = min(range(len(names)), key=lambda i: covariance[i][i])
    mix = _best_mix(covariance)
    better = _variance(covariance, mix) < CLEARLY_BETTER**2 * covariance[best][best]
    return {names[i]: weight for i, weight in mix.items()} if better else {names[best]: 1.0}


def spread(blocks: Sequence[KernelRatios], weights: Weights) -> float:
    """Of the ratio to a mix, over blocks. Not trimmed: blocks in which the mix did not follow the
    test through a disturbance are what it is asked for.
    """
    return statistics.stdev(combined(block, weights).median for block in blocks)


def _telling(rows: Sequence[Sequence[float]]) -> list[Sequence[float]]:
    """Of blocks by kernels, those that tell kernels apart. Where the ratios to all of them are off
    in one direction, the test itself had good or bad luck; one such block, far off, would favour
    whichever kernel happened to be off the other way.
    """
    centres: list[float] = [statistics.median(column) for column in zip(*rows, strict=True)]

    def own_luck(row: Sequence[float]) -> float:
        apart = [x - centre for x, centre in zip(row, centres, strict=True)]
        return max(min(apart), -max(apart), 0.0)

    return sorted(rows, key=own_luck)[: len(rows) - int(len(rows) * TRIMMED_SHARE)]


def _covariance(rows: Sequence[Sequence[float]]) -> list[list[float]]:
    columns = list(zip(*rows, strict=True))
    return [[statistics.covariance(a, b) for b in columns] for a in columns]


def _variance(covariance: Sequence[Sequence[float]], mix: Mapping[int, float]) -> float:
    return sum(a * b * covariance[i][j] for i, a in mix.items() for j, b in mix.items())


def _best_mix(covariance: Sequence[Sequence[float]]) -> dict[int, float]:
    """Weights by place. Without those that are too small the others are fitted anew: to stretch
    them would make the mix bear a neighbour differently.
    """
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
