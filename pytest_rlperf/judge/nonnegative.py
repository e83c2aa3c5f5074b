"""Least squares of a few terms none of which can be negative, without numpy.

The active-set method of Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23): terms
join one at a time, the most wanted first, and leave when the others would make them negative.
"""

import math
from collections.abc import Collection, Sequence

Vector = list[float]

TOLD_APART = 0.01
"""A column that lies closer than this, as a sine, to a mix of the others is told from them by the
noise of the rows only."""
ROUNDING = 1e-12


def nonnegative_least_squares(rows: Sequence[Sequence[float]]) -> Vector:
    """The x >= 0 with the least sum of (row · x - 1)²: each row is over what it has to come to."""
    lengths = [math.hypot(*column) for column in zip(*rows, strict=True)]
    columns = [_over(column, s) for column, s in zip(zip(*rows, strict=True), lengths, strict=True)]
    target = [1.0] * len(rows)
    x, free = [0.0] * len(columns), set[int]()
    while (joining := _most_wanted(columns, _left(columns, x, target), free)) is not None:
        free.add(joining)
        x = _settled(columns, target, x, free)
        if joining not in free:  # it was wanted by no more than rounding
            break
    return [value / length if length else 0.0 for value, length in zip(x, lengths, strict=True)]


def _most_wanted(columns: Sequence[Vector], left: Vector, free: Collection[int]) -> int | None:
    wanted = {i: _dot(c, left) for i, c in enumerate(columns) if i not in free}
    best = max(wanted, key=lambda i: wanted[i], default=None)
    return best if best is not None and wanted[best] > ROUNDING * math.sqrt(len(left)) else None


def _settled(columns: Sequence[Vector], target: Vector, x: Vector, free: set[int]) -> Vector:
    """The best of the free terms; from `x` as far towards it as none is negative, without those
    that would be next.
    """
    while free:
        order = sorted(free)
        solved = dict(zip(order, _solve([columns[i] for i in order], target), strict=True))
        if min(solved.values()) > 0:
            return [solved.get(i, 0.0) for i in range(len(columns))]
        share = min(x[i] / (x[i] - solved[i]) for i in order if solved[i] <= 0)
        x = [old + share * (solved.get(i, 0.0) - old) for i, old in enumerate(x)]
        gone = {i for i in order if x[i] <= ROUNDING and solved[i] <= 0}
        free -= gone
        x = [0.0 if i in gone else value for i, value in enumerate(x)]
    return [0.0] * len(columns)


def confused(rows: Sequence[Sequence[float]]) -> int | None:
    """The first term that the rows cannot tell from those before it; None: there is none."""
    basis: list[Vector] = []
    for i, column in enumerate(zip(*rows, strict=True)):
        length = math.hypot(*column)
        own = _without(list(column), basis)
        if math.hypot(*own) <= TOLD_APART * length:
            return i
        basis.append(_over(own, math.hypot(*own)))
    return None


def _solve(columns: Sequence[Vector], target: Vector) -> Vector:
    """Plain least squares, by Gram and Schmidt; each column twice, so that rounding does no harm. A
    column that is a mix of those before it gets nothing.
    """
    basis: list[Vector] = []
    for column in columns:
        own = _without(_without(column, basis), basis)
        length = math.hypot(*own)
        basis.append(_over(own, length if length > ROUNDING else 0.0))
    x: Vector = [0.0] * len(columns)
    for i in reversed(range(len(columns))):
        known = math.fsum(_dot(basis[i], columns[k]) * x[k] for k in range(i + 1, len(columns)))
        own_share = _dot(basis[i], columns[i])
        x[i] = (_dot(basis[i], target) - known) / own_share if own_share else 0.0
    return x


def _left(columns: Sequence[Vector], x: Vector, target: Vector) -> Vector:
    return [t - _dot(row, x) for t, row in zip(target, zip(*columns, strict=True), strict=True)]


def _without(column: Vector, basis: Sequence[Vector]) -> Vector:
    for direction in basis:
        share = _dot(direction, column)
        column = [c - share * d for c, d in zip(column, direction, strict=True)]
    return column


def _over(vector: Sequence[float], length: float) -> Vector:
    return [value / length if length else 0.0 for value in vector]


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))
