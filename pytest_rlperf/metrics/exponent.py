"""How the time of a test grows with the size of its input: the exponent a of n^a.

It is the slope of log time over log size, by least squares. Least squares is linear in the times,
so the difference of two exponents is the slope of the log-ratios: each size is compared with its
own partner at the same moment, and nothing that slows the machine down gets into it. One block that
holds all sizes gives one difference, and blocks are judged as those of time are (see `decide`).
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_rlperf.model.metric import (
    EXPONENT,
    GrowthCurve,
    Interval,
    Metric,
    Outcome,
    Verdict,
)
from pytest_rlperf.model.quantity import growth_law
from pytest_rlperf.stats.decide import Decision
from pytest_rlperf.stats.verdicts import Ended, severity

ALLOWED = 0.1
"""Growth of the exponent. A further factor of log n adds 0.15 over sizes from 100 to 10,000, and
0.11 from 1,000 to 100,000. With sizes a hundredfold apart, 0.1 makes the largest 1.6 times slower
than the smallest."""
MEDIUM_ABOVE = 0.25
HIGH_ABOVE = 0.5


def slope_weights(sizes: Sequence[float]) -> list[float]:
    """Return the weights of the least-squares slope over the logarithms of the sizes: the slope is
    the weighted sum of the values.
    """
    logs = [math.log(size) for size in sizes]
    centre = statistics.fmean(logs)
    squares = math.fsum((log - centre) ** 2 for log in logs)
    return [(log - centre) / squares for log in logs]


def slopes(values: Mapping[float, Mapping[int, float]]) -> dict[int, float]:
    """Return the slope over all sizes, by block; `values` are logarithms by size and block. A block
    in which a size is missing has none.
    """
    weights = slope_weights(list(values))
    shared = set.intersection(*(set(blocks) for blocks in values.values()))
    return {
        index: math.fsum(
            w * blocks[index] for w, blocks in zip(weights, values.values(), strict=True)
        )
        for index in sorted(shared)
    }


def slope_blur(sizes: Sequence[float], blurs: Iterable[float]) -> float:
    """Return what the blur of each size's baseline comes to in the slope."""
    return math.hypot(*(w * blur for w, blur in zip(slope_weights(sizes), blurs, strict=True)))


def exponent_metric(
    curve: GrowthCurve,
    head: Sequence[float],
    base: Sequence[float],
    judged: Decision | Ended | None,
    *,
    largest: Interval | None,
    scouted_base: float | None = None,
) -> Metric:
    """Return the exponent of the times on `curve` with its verdict.

    `head` and `base` are exponents by block; `largest` is the change of the time at the largest
    size; None: nothing was compared. `scouted_base` is the base's exponent where its slices are too
    short to tell; the change then reads too small.
    """
    sizes = curve.sizes
    decision = judged if isinstance(judged, Decision) else None
    amount = decision.interval if decision else None
    value = statistics.median(head) if head else None
    base_value = None if value is None or amount is None else value - amount.change
    if base_value is not None and scouted_base is not None:
        base_value = scouted_base
    words = " became ".join(
        dict.fromkeys(growth_law(each, sizes) for each in (base_value, value) if each is not None)
    )
    if scouted_base is not None:
        words += " (the base's calls are too short beside head's: its exponent is the scout's)"
    label = f"sizes {', '.join(f'{size:g}' for size in sizes)}"
    return Metric(
        name=EXPONENT,
        verdict=replace(_verdict(judged, words, largest), label=label),
        head=tuple(head),
        base=tuple(base),
        value=value,
        base_value=base_value,
        amount=amount,
        threshold_abs=ALLOWED,
        curve=curve,
    )


def _verdict(judged: Decision | Ended | None, words: str, largest: Interval | None) -> Verdict:
    if isinstance(judged, Ended):
        return Verdict(judged.outcome, judged.reason)
    if judged is None or judged.outcome is None or judged.interval is None:
        reason = "too few blocks have all sizes; raise --rlperf-budget or select fewer tests"
        return Verdict(Outcome.INCONCLUSIVE, reason)
    allowed = f"{ALLOWED:+g}"
    match judged.outcome:
        case Outcome.REGRESSED if largest is None or largest.low <= 0:
            reason = "steeper, since small sizes became faster; the largest did not become slower"
            return Verdict(Outcome.UNCHANGED, reason)
        case Outcome.REGRESSED:
            reason = f"grows faster with the size than the allowed {allowed}, beyond doubt: {words}"
            severe = severity(judged.interval.change, MEDIUM_ABOVE, HIGH_ABOVE)
            return Verdict(judged.outcome, reason, severity=severe)
        case Outcome.IMPROVED:
            return Verdict(judged.outcome, f"grows slower with the size: {words}")
        case Outcome.UNCHANGED:
            return Verdict(judged.outcome, f"within the allowed {allowed}")
        case _:
            reason = f"the blocks could not tell it from the allowed {allowed}; raise "
            return Verdict(judged.outcome, f"{reason}--rlperf-budget, or add a size further apart")
