"""Activations, and the functions of `kernels` in NumPy, for where Numba is missing.

An activation is a pair: the value, in place, and the derivative, from what a layer keeps. With z
what goes into the activation and y what comes out: all but GELU find their derivative in y, so that
z need not be kept and y is written over it. There `y` and `z` are the same array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.errors import SettingError

Array = NDArray[Any]

# How compiled code tells them apart.
LINEAR, RELU, LEAKY_RELU, TANH, SIGMOID, GELU = range(6)
# The derivative itself is what is kept.
SLOPE: Final = 6
LEAK: Final = 0.01
WIDTH: Final = math.sqrt(2.0 / math.pi)
CUBE: Final = 0.044715


def linear(z: Array, y: Array) -> None:
    """y = z"""


def linear_slope(y: Array, out: Array) -> None:
    """dy/dz = 1"""
    out.fill(1.0)


def relu(z: Array, y: Array) -> None:
    """y = max(z, 0)"""
    np.maximum(z, 0.0, out=y)


def relu_slope(y: Array, out: Array) -> None:
    """dy/dz = 1 where y > 0, else 0"""
    np.greater(y, 0.0, out=out)


def leaky_relu(z: Array, y: Array) -> None:
    """y = z where z > 0, else 0.01 z (Maas et al., 2013)"""
    np.multiply(z, LEAK, out=y, where=z < 0.0)


def leaky_relu_slope(y: Array, out: Array) -> None:
    """dy/dz = 1 where y > 0, else 0.01"""
    np.greater(y, 0.0, out=out)
    out *= 1.0 - LEAK
    out += LEAK


def tanh(z: Array, y: Array) -> None:
    """y = tanh(z)"""
    np.tanh(z, out=y)


def tanh_slope(y: Array, out: Array) -> None:
    """dy/dz = 1 - y**2"""
    np.multiply(y, y, out=out)
    np.subtract(1.0, out, out=out)


def sigmoid(z: Array, y: Array) -> None:
    """y = 1 / (1 + exp(-z)) = (1 + tanh(z / 2)) / 2, which overflows nowhere"""
    np.multiply(z, 0.5, out=y)
    np.tanh(y, out=y)
    y += 1.0
    y *= 0.5


def sigmoid_slope(y: Array, out: Array) -> None:
    """dy/dz = y (1 - y)"""
    np.subtract(1.0, y, out=out)
    out *= y


def gelu(z: Array, y: Array) -> None:
    """y = z (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (z + 0.044715 z**3)

    The tanh form of Hendrycks & Gimpel (2016); NumPy has no error function for the exact one, from
    which it differs by less than 0.0005.
    """
    tanh_of_gelu(z, y)
    y += 1.0
    y *= z
    y *= 0.5


def gelu_slope(z: Array, out: Array) -> None:
    """dy/dz = (1 + t) / 2 + z (1 - t**2) u' / 2 with t = tanh(u), from z

    As (1 + t) (1 + z (1 - t) u') / 2 it takes one array besides, of a block of rows; compiled, it
    takes none (`kernels.gelu_slope`).
    """
    for start in range(0, len(z), _BLOCK):
        part, t = z[start : start + _BLOCK], out[start : start + _BLOCK]
        tanh_of_gelu(part, t)
        inner = 3.0 * CUBE * part * part
        inner += 1.0
        inner *= WIDTH * part
        inner *= 1.0 - t
        inner += 1.0
        t += 1.0
        t *= inner
        t *= 0.5


# Rows of what GELU's derivative takes besides: it stays in the cache.
_BLOCK: Final = 32


def tanh_of_gelu(z: Array, out: Array) -> None:
    """out = tanh(u)"""
    np.multiply(z, z, out=out)
    out *= WIDTH * CUBE
    out += WIDTH
    out *= z
    np.tanh(out, out=out)


@dataclass(frozen=True, slots=True)
class Activation:
    """`slope` gets y, or z where `keeps_z`."""

    code: int
    value: Callable[[Array, Array], None]
    slope: Callable[[Array, Array], None]
    keeps_z: bool = False


ACTIVATIONS: Final = {
    "linear": Activation(LINEAR, linear, linear_slope),
    "relu": Activation(RELU, relu, relu_slope),
    "leaky_relu": Activation(LEAKY_RELU, leaky_relu, leaky_relu_slope),
    "tanh": Activation(TANH, tanh, tanh_slope),
    "sigmoid": Activation(SIGMOID, sigmoid, sigmoid_slope),
    "gelu": Activation(GELU, gelu, gelu_slope, keeps_z=True),
}


def activation_named(name: str) -> Activation:
    if name not in ACTIVATIONS:
        raise SettingError(
            f"there is no activation {name!r}: choose one of {', '.join(ACTIVATIONS)}."
        )
    return ACTIVATIONS[name]


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


def join_streams(value: Array, advantage: Array, q: Array) -> None:
    np.subtract(advantage, advantage.mean(axis=1, keepdims=True), out=q)
    q += value


def split_gradient(grad: Array, by_value: Array, by_advantage: Array) -> None:
    np.add.reduce(grad, axis=1, keepdims=True, out=by_value)
    np.subtract(grad, by_value / grad.shape[1], out=by_advantage)


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
