"""Losses as means over a batch, with the gradient that `MLP.backward` takes.

The mean is taken here, once: each row's part of the gradient is divided by the number of rows.
Where a batch comes in parts, `rows` is the number of rows of all of them, and losses and gradients
of the parts add up to those of the whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def mean_squared(
    y: NDArray[Any], target: NDArray[Any], grad: NDArray[Any], *, rows: int | None = None
) -> float:
    """L = 1/n sum_i |y_i - target_i|**2;  grad <- dL/dy = 2 (y - target) / n"""
    n = rows or len(y)
    np.subtract(y, target, out=grad)
    loss = float(np.dot(grad.ravel(), grad.ravel())) / n
    grad *= 2.0 / n
    return loss


def mean_huber(
    y: NDArray[Any], target: NDArray[Any], grad: NDArray[Any], *, rows: int | None = None
) -> float:
    """L = 1/n sum_ij h(y_ij - target_ij);  grad <- dL/dy = clip(y - target, -1, 1) / n

    Huber (1964):
    h(d) = d**2 / 2 where |d| <= 1, else |d| - 1/2, which is c (d - c / 2) with c = clip(d, -1, 1).
    """
    n = rows or len(y)
    difference = y - target
    np.clip(difference, -1.0, 1.0, out=grad)
    difference -= 0.5 * grad
    loss = float(np.dot(difference.ravel(), grad.ravel())) / n
    grad *= 1.0 / n
    return loss
