"""The functions of `kernels` in NumPy, for where Numba is missing."""

from __future__ import annotations

from typing import Final

import numpy as np

from rl_impls.nets.activations import LINEAR, Array
from rl_impls.nets.activations import gelu_slope as gelu_slope

# There is no `forward_rows`: NumPy's calls cost the same for one row as for one of many.
FEW_ROWS: Final = 0
VALUES: Final[frozenset[int]] = frozenset()
SLOPES: Final[frozenset[int]] = frozenset()


def add_bias(z: Array, bias: Array, code: int) -> None:
    z += bias


def through(delta: Array, slope: Array, bias_grad: Array, code: int) -> None:
    if code != LINEAR:
        delta *= slope
    np.add.reduce(delta, axis=0, out=bias_grad)


def adam(params: Array, grads: Array, mean: Array, square: Array, c: Array) -> None:
    mean *= c[0]
    mean += c[1] * grads
    square *= c[2]
    square += c[3] * (grads * grads)
    denominator = np.sqrt(square)
    denominator *= c[5]
    denominator += c[6]
    params -= c[4] * mean / denominator


def momentum(params: Array, grads: Array, velocity: Array, c: Array) -> None:
    velocity *= c[0]
    velocity += grads
    params -= c[1] * velocity


def towards(target: Array, source: Array, c: Array) -> None:
    target += c[0] * (source - target)
