"""A test's time in reference units: its ratio to a kernel, or to the mix that tracks it best."""

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import combinations

from pytest_rlperf.judge.estimate import paired
from pytest_rlperf.model.block import Block, LogRatios

CLOCK = "clock"
"""Not a kernel but the wall clock: what a test that waits is measured in."""

KernelRatios = Mapping[str, LogRatios]
Weights = Mapping[str, float]

HANDICAP = {1: 1.0, 2: 1.2, 3: 1.3}
"""By number of kernels. In eight sessions of ten tests, fitted to 24 blocks, other sessions lay off
by 1.9 % (root mean square; at most 5 %); with weights fitted freely the same, but at most 7 %. With
12 blocks it was 2.6 %, and at most 10 %.
"""

WILD = 0.2
"""Log-ratio. Few processes in a thousand are off so far, for all of their life."""


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
        sum(weight * ratios[name].typical for name, weight in weights.items()),
        sum(weight * ratios[name].total for name, weight in weights.items()),
    )


def fit_weights(
    *runs: Sequence[KernelRatios], besides: frozenset[str] = frozenset()
) -> dict[str, float]:
    """The kernel, or equal parts of two or three, whose ratio varied least over the blocks of a
    run. Of several runs each has a level of its own, which says nothing about kernels.

    The blocks must have seen the machine in several states, or there is nothing to learn from.
    Weights fitted freely learn the noise of two dozen blocks, and there are more mixes than
    kernels to be lucky with: so a mix must be clearly better.
    """
    names = sorted(set.intersection(*(set(block) for run in runs for block in run)) - besides)
    apart = _apart_from_their_level(runs, names)
    mixes = (chosen for number in HANDICAP for chosen in combinations(names, number))
    best = min(mixes, key=lambda mix: HANDICAP[len(mix)] * _spread([apart[n] for n in mix]))
    return dict.fromkeys(best, 1 / len(best))


def _apart_from_their_level(
    runs: Sequence[Sequence[KernelRatios]], names: Sequence[str]
) -> dict[str, list[float]]:
    """By kernel, of every block."""
    found: dict[str, list[float]] = {name: [] for name in names}
    for blocks in filter(None, runs):
        telling = _telling(blocks, names)
        for name in names:
            ratios = [block[name].typical for block in telling]
            level = statistics.fmean(ratios)
            found[name] += [ratio - level for ratio in ratios]
    return found


def _telling(blocks: Sequence[KernelRatios], names: Sequence[str]) -> Sequence[KernelRatios]:
    """Without those in which the ratios to all kernels are far off in one direction: there the
    test itself had good or bad luck, which says nothing about kernels, and would favour whichever
    happened to be off the other way.
    """
    centres = {name: statistics.median(block[name].typical for block in blocks) for name in names}

    def own_luck(block: KernelRatios) -> float:
        apart = [block[name].typical - centre for name, centre in centres.items()]
        return max(min(apart), -max(apart))

    kept = [block for block in blocks if own_luck(block) < WILD]
    return kept if len(kept) > len(blocks) / 2 else blocks


def _spread(kernels: Sequence[Sequence[float]]) -> float:
    """Of the ratio to a mix in equal parts. Not trimmed: blocks in which the mix did not follow the
    test through a disturbance are what it is asked for.
    """
    return math.hypot(*map(math.fsum, zip(*kernels, strict=True))) / len(kernels)
