"""Parts of a network's flat arrays, by layer and by batch size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from rl_impls.nets.activations import Activation, Array


class Layer(NamedTuple):
    """What one dense layer works on in a batch of some size: y = activation(z), z = h W + b."""

    activation: Activation
    weight: Array
    bias: Array
    z: Array  # the same array as y where the activation does not keep it
    y: Array
    delta: Array  # dL/dy, then dL/dz
    delta_before: Array  # dL/dh, which is the delta of the layer before
    slope: Array  # dy/dz, where it is not computed on the way


class Views(NamedTuple):
    layers: tuple[Layer, ...]
    out: Array
    few: bool  # rows, too few for a call of BLAS a layer to pay


def layers_of(flat: Array, sizes: Sequence[int]) -> tuple[list[Array], list[Array]]:
    """Weights (fan_in, fan_out) and biases (fan_out,): views of one flat array, layer by layer."""
    weights, biases = [], []
    at = 0
    for fan_in, fan_out in pairwise(sizes):
        bias_at = at + fan_in * fan_out
        weights.append(flat[at:bias_at].reshape(fan_in, fan_out))
        biases.append(flat[bias_at : bias_at + fan_out])
        at = bias_at + fan_out
    return weights, biases
