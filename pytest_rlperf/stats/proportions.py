"""Exact bounds for a share, from the standard library alone."""

from collections.abc import Callable
from math import exp, lgamma, log

from pytest_rlperf.model.result import Rate

LEVEL = 0.95
BISECTIONS = 60


def rate_of(hits: int, n: int) -> Rate:
    """Return the rate of `hits` in `n` with its 95 % bounds."""
    return Rate(hits, n, *clopper_pearson(hits, n))


def clopper_pearson(hits: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return two-sided bounds for a binomial share (Clopper and Pearson, Biometrika 26, 1934)."""
    if not 0 <= hits <= n or n == 0:
        raise ValueError(f"{hits} of {n} is no share")
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else _root(lambda p: at_most(hits - 1, n, p) - (1 - tail))
    high = 1.0 if hits == n else _root(lambda p: at_most(hits, n, p) - tail)
    return low, high


def at_most(hits: int, n: int, share: float) -> float:
    """Return the probability of at most `hits` in `n`, for 0 < share < 1."""
    return sum(exp(_log_mass(k, n, share)) for k in range(hits + 1))


def _log_mass(hits: int, n: int, share: float) -> float:
    log_ways = lgamma(n + 1) - lgamma(hits + 1) - lgamma(n - hits + 1)
    return log_ways + hits * log(share) + (n - hits) * log(1 - share)


def _root(falling: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        # Rounding may bring the bracket to its end, where the logarithms stop.
        if not 0.0 < middle < 1.0:
            break
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2
