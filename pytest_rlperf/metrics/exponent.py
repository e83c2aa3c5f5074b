"""How the time of a test grows with the size of its input: the exponent a of n^a.

It is the slope of log time over log size, by least squares. Least squares is linear in the times,
so the difference of two exponents is the slope of the log-ratios: each size is compared with its
own partner at the same moment, and nothing that slows the machine down gets into it. One block that
holds all sizes gives one difference, and blocks are judged as those of time are (see `decide`).
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence

from pytest_rlperf.model.metric import EXPONENT, ExtraMetric, Interval, Outcome, Severity, Verdict
from pytest_rlperf.stats.decide import Decision
from pytest_rlperf.stats.verdicts import Ended

ALLOWED = 0.1
"""Growth of the exponent. A further factor of log n adds 0.15 over sizes from 100 to 10,000, and
0.11 from 1,000 to 100,000. With sizes a hundredfold apart, 0.1 makes the largest 1.6 times slower
than the smallest."""
MEDIUM_ABOVE = 0.25
HIGH_ABOVE = 0.5

NEAR = 0.1
"""An exponent is called by the name of a law that lies no further away."""


def slope_weights(sizes: Sequence[float]) -> list[float]:
    """Of the least-squares slope over the logarithms: it is the weighted sum of the values."""
    logs = [math.log(size) for size in sizes]
    centre = statistics.fmean(logs)
    squares = math.fsum((log - centre) ** 2 for log in logs)
    return [(log - centre) / squares for log in logs]


def slopes(values: Mapping[float, Mapping[int, float]]) -> dict[int, float]:
    """By block, over all sizes; `values` are logarithms by size and block. A block in which a size
    is missing has none.
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
    """What the blur of each size's baseline comes to in the slope."""
    return math.hypot(*(w * blur for w, blur in zip(slope_weights(sizes), blurs, strict=True)))


def in_words(exponent: float, sizes: Sequence[float]) -> str:
    """O(1), O(n log n), O(n^1.5): the nearest law where one is near."""
    laws = {"O(1)": 0.0, "O(n)": 1.0, "O(n²)": 2.0}
    if min(sizes) > math.e:  # below, log n is no growth to speak of
        laws["O(n log n)"] = 1 + _logarithm(sizes)
    name = min(laws, key=lambda law: abs(laws[law] - exponent))
    return name if abs(laws[name] - exponent) <= NEAR else f"O(n^{exponent:.2g})"


def _logarithm(sizes: Sequence[float]) -> float:
    """The slope that log n has over these sizes."""
    weights = slope_weights(sizes)
    return math.fsum(w * math.log(math.log(n)) for w, n in zip(weights, sizes, strict=True))


def exponent_metric(
    sizes: Sequence[float],
    head: Sequence[float],
    base: Sequence[float],
    found: Decision | Ended | None,
    *,
    largest: Interval | None,
    scouted_base: float | None = None,
) -> ExtraMetric:
    """`head` and `base` are exponents by block; `largest` is the change of the time at the largest
    size; None: nothing was compared. `scouted_base` is the base's exponent where its slices are too
    short to tell; the change then reads too small.
    """
    decision = found if isinstance(found, Decision) else None
    amount = decision.interval if decision else None
    value = statistics.median(head) if head else None
    base_value = None if value is None or amount is None else value - amount.change
    if base_value is not None and scouted_base is not None:
        base_value = scouted_base
    words = " became ".join(
        dict.fromkeys(in_words(each, sizes) for each in (base_value, value) if each is not None)
    )
    if scouted_base is not None:
        words += " (the base's calls are too short beside head's: its exponent is the scout's)"
    return ExtraMetric(
        name=EXPONENT,
        unit=None,
        head=tuple(head),
        verdict=_verdict(found, words, largest),
        base=tuple(base),
        value=value,
        base_value=base_value,
        amount=amount,
        threshold_abs=ALLOWED,
        sizes=tuple(sizes),
    )


def _verdict(found: Decision | Ended | None, words: str, largest: Interval | None) -> Verdict:
    if isinstance(found, Ended):
        return Verdict(found.outcome, found.reason)
    if found is None or found.outcome is None or found.interval is None:
        reason = "too few blocks have all sizes; raise --rlperf-budget or select fewer tests"
        return Verdict(Outcome.INCONCLUSIVE, reason)
    allowed = f"{ALLOWED:+g}"
    match found.outcome:
        case Outcome.REGRESSED if largest is None or largest.low <= 0:
            reason = "steeper, since small sizes became faster; the largest did not become slower"
            return Verdict(Outcome.UNCHANGED, reason)
        case Outcome.REGRESSED:
            reason = f"grows faster with the size than the allowed {allowed}, beyond doubt: {words}"
            return Verdict(found.outcome, reason, severity=_severity(found.interval.change))
        case Outcome.IMPROVED:
            return Verdict(found.outcome, f"grows slower with the size: {words}")
        case Outcome.UNCHANGED:
            return Verdict(found.outcome, f"within the allowed {allowed}")
        case _:
            reason = f"the blocks could not tell it from the allowed {allowed}; raise "
            return Verdict(found.outcome, f"{reason}--rlperf-budget, or add a size further apart")


def _severity(change: float) -> Severity:
    if change > HIGH_ABOVE:
        return Severity.HIGH
    return Severity.MEDIUM if change > MEDIUM_ABOVE else Severity.NOTICE


# Tests of one function at several sizes, which together tell how its time grows.
