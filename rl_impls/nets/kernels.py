"""Compiled code for everything that networks and optimisers do between two matrix products.

One pass over an array takes the place of several in NumPy. `plain` holds the same functions. Every
constant has the type of the array: another one would make a float32 sum one of float64.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from rl_impls.jit import compiled, inlined
from rl_impls.nets.plain import (
    CUBE,
    GELU,
    LEAK,
    LEAKY_RELU,
    RELU,
    SIGMOID,
    SLOPE,
    TANH,
    WIDTH,
    Array,
    tanh_of_gelu,
)

# Beyond so many rows BLAS is quicker than `forward_rows`.
FEW_ROWS: Final = 1
# The means of a unit that is dead for good shrink to numbers so small that processors take many
# times as long for them, and stay there. Beside Adam's eps these are nothing.
TINY: Final = 1e-35
# Activations that `add_bias` applies, and those whose derivative `through` knows. NumPy is quicker
# where there is a function to evaluate: it has vector instructions for tanh.
VALUES: Final = frozenset({RELU, LEAKY_RELU})
SLOPES: Final = frozenset({RELU, LEAKY_RELU, TANH, SIGMOID})


@inlined
def affine_row(h: Array, weight: Array, bias: Array, z: Array) -> None:
    """z = h W + b. Four inputs at a time: z is loaded and stored a quarter as often."""
    fan_in, fan_out = weight.shape
    for j in range(fan_out):
        z[j] = bias[j]
    whole = fan_in - fan_in % 4
    for i in range(0, whole, 4):
        h_0, h_1, h_2, h_3 = h[i], h[i + 1], h[i + 2], h[i + 3]
        for j in range(fan_out):
            z[j] += (h_0 * weight[i, j] + h_1 * weight[i + 1, j]) + (
                h_2 * weight[i + 2, j] + h_3 * weight[i + 3, j]
            )
    for i in range(whole, fan_in):
        h_0 = h[i]
        for j in range(fan_out):
            z[j] += h_0 * weight[i, j]


@inlined
def activate_row(z: Array, y: Array, code: int) -> None:
    """Apply an activation; see `plain`. A comparison with NaN is false, so that NaN goes
    through."""
    number = z.dtype.type
    zero, half, one, leak = number(0.0), number(0.5), number(1.0), number(LEAK)
    if code == RELU:
        for j in range(len(z)):
            y[j] = zero if z[j] < zero else z[j]
    elif code == LEAKY_RELU:
        for j in range(len(z)):
            y[j] = leak * z[j] if z[j] < zero else z[j]
    elif code == TANH:
        for j in range(len(z)):
            y[j] = math.tanh(z[j])
    elif code == SIGMOID:
        for j in range(len(z)):
            y[j] = half * (one + number(math.tanh(half * z[j])))
    elif code == GELU:
        width, cube = number(WIDTH), number(CUBE)
        for j in range(len(z)):
            inner = width * z[j] * (one + cube * z[j] * z[j])
            y[j] = half * z[j] * (one + number(math.tanh(inner)))
    else:
        for j in range(len(z)):
            y[j] = z[j]


@compiled
def forward_rows(
    x: Array, params: Array, inputs: Array, outputs: Array, sizes: Any, max_batch: int,
    hidden: int, last: int,
) -> None:  # fmt: skip
    """A whole network on each row: for few rows, calls cost more than sums.

    `params` is that of the network; `inputs` and `outputs` hold z and y of all layers, one array
    where z need not be kept, layer after layer with room for `max_batch` rows each.
    """
    n_layers = len(sizes) - 1
    for row in range(len(x)):
        h = x[row]
        at = 0
        kept_at = 0
        for layer in range(n_layers):
            fan_in, fan_out = sizes[layer], sizes[layer + 1]
            bias_at = at + fan_in * fan_out
            weight = params[at:bias_at].reshape((fan_in, fan_out))
            at = bias_at + fan_out
            start = kept_at + row * fan_out
            kept_at += max_batch * fan_out
            z = inputs[start : start + fan_out]
            y = outputs[start : start + fan_out]
            affine_row(h, weight, params[bias_at:at], z)
            activate_row(z, y, hidden if layer < n_layers - 1 else last)
            h = y


@compiled
def add_bias(z: Array, bias: Array, code: int) -> None:
    """z += b, and the activation where it is ReLU or LeakyReLU."""
    n, size = z.shape
    number = z.dtype.type
    zero, leak = number(0.0), number(LEAK)
    if code == RELU:
        for row in range(n):
            for j in range(size):
                value = z[row, j] + bias[j]
                z[row, j] = zero if value < zero else value
    elif code == LEAKY_RELU:
        for row in range(n):
            for j in range(size):
                value = z[row, j] + bias[j]
                z[row, j] = leak * value if value < zero else value
    else:
        for row in range(n):
            for j in range(size):
                z[row, j] += bias[j]


@compiled
def through(delta: Array, kept: Array, bias_grad: Array, code: int) -> None:
    """delta *= dy/dz, and b's gradient: the sum of the rows.

    `kept` is y, or with SLOPE dy/dz itself, or with LINEAR anything.
    """
    n, size = delta.shape
    number = delta.dtype.type
    zero, one, leak = number(0.0), number(1.0), number(LEAK)
    bias_grad[:] = zero
    if code == RELU:
        for row in range(n):
            for j in range(size):
                value = delta[row, j] if kept[row, j] > zero else zero
                delta[row, j] = value
                bias_grad[j] += value
    elif code == LEAKY_RELU:
        for row in range(n):
            for j in range(size):
                value = delta[row, j] if kept[row, j] > zero else leak * delta[row, j]
                delta[row, j] = value
                bias_grad[j] += value
    elif code == TANH:
        for row in range(n):
            for j in range(size):
                value = delta[row, j] * (one - kept[row, j] * kept[row, j])
                delta[row, j] = value
                bias_grad[j] += value
    elif code == SIGMOID:
        for row in range(n):
            for j in range(size):
                value = delta[row, j] * (kept[row, j] * (one - kept[row, j]))
                delta[row, j] = value
                bias_grad[j] += value
    elif code == SLOPE:
        for row in range(n):
            for j in range(size):
                value = delta[row, j] * kept[row, j]
                delta[row, j] = value
                bias_grad[j] += value
    else:
        for row in range(n):
            for j in range(size):
                bias_grad[j] += delta[row, j]


def gelu_slope(z: Array, out: Array) -> None:
    """Compute `plain.gelu_slope`. NumPy has the quicker tanh; the rest goes over it once."""
    tanh_of_gelu(z, out)
    _slope_from_tanh(z.ravel(), out.ravel())


@compiled
def _slope_from_tanh(z: Array, t: Array) -> None:
    """t becomes (1 + t) (1 + z (1 - t) u') / 2."""
    number = z.dtype.type
    half, one, width, cube = number(0.5), number(1.0), number(WIDTH), number(3.0 * CUBE)
    for i in range(len(z)):
        slope = width * z[i] * (one + cube * z[i] * z[i])
        t[i] = half * (one + t[i]) * (one + slope * (one - t[i]))


@compiled
def join_streams(value: Array, advantage: Array, q: Array) -> None:
    """q_ij <- v_i + A_ij - mean_j A_ij; see `dueling`."""
    n, size = q.shape
    for row in range(n):
        total = advantage[row, 0]
        for j in range(1, size):
            total += advantage[row, j]
        base = value[row, 0] - total / q.dtype.type(size)
        for j in range(size):
            q[row, j] = base + advantage[row, j]


@compiled
def split_gradient(grad: Array, by_value: Array, by_advantage: Array) -> None:
    """dL/dv_i <- sum_j g_ij;  dL/dA_ij <- g_ij - mean_j g_ij"""
    n, size = grad.shape
    for row in range(n):
        total = grad[row, 0]
        for j in range(1, size):
            total += grad[row, j]
        by_value[row, 0] = total
        mean = total / grad.dtype.type(size)
        for j in range(size):
            by_advantage[row, j] = grad[row, j] - mean


@compiled
def adam(params: Array, grads: Array, mean: Array, square: Array, c: Array) -> None:
    """Make a step of `optimisers.Adam`; `c` holds beta_1, 1 - beta_1, beta_2, 1 - beta_2, a, b and
    eps."""
    zero, tiny = params.dtype.type(0.0), params.dtype.type(TINY)
    for i in range(len(params)):
        grad = grads[i]
        first = c[0] * mean[i] + c[1] * grad
        second = c[2] * square[i] + c[3] * (grad * grad)
        mean[i] = zero if abs(first) < tiny else first
        square[i] = zero if second < tiny else second
        params[i] -= c[4] * mean[i] / (np.sqrt(square[i]) * c[5] + c[6])


@compiled
def momentum(params: Array, grads: Array, velocity: Array, c: Array) -> None:
    """Make a step of `optimisers.SGD`; `c` holds the momentum and the learning rate."""
    for i in range(len(params)):
        velocity[i] = c[0] * velocity[i] + grads[i]
        params[i] -= c[1] * velocity[i]


@compiled
def towards(target: Array, source: Array, c: Array) -> None:
    """target += tau (source - target); `c` holds tau."""
    for i in range(len(target)):
        target[i] += c[0] * (source[i] - target[i])
