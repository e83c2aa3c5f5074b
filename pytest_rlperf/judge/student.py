"""Student's t distribution, by the regularised incomplete beta function.

The standard library has the normal distribution only, and SciPy is 100 MB for two numbers.
Continued fraction: Press et al., Numerical Recipes, 3rd ed., section 6.4 (modified Lentz).
"""

import math
from functools import lru_cache

TINY = 1e-300
PRECISION = 1e-15
MAX_TERMS = 500


def t_cdf(t: float, df: float) -> float:
    """P(T <= t) for T with `df` degrees of freedom."""
    if t * t < df:  # near the middle: the tail's argument would round to one
        return 0.5 + math.copysign(0.5, t) * _incomplete_beta(0.5, df / 2, t * t / (df + t * t))
    tail = 0.5 * _incomplete_beta(df / 2, 0.5, df / (df + t * t))
    return tail if t < 0 else 1 - tail


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """The t below which a share `p` of the distribution lies."""
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
