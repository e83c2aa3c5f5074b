"""A multi-layer perceptron's forward pass into arrays that are allocated once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray


def he_normal(rng: np.random.Generator, fan_in: int, fan_out: int) -> NDArray[np.float32]:
    """Weights from N(0, 2 / fan_in), which keep the variance of ReLU layers (He et al., 2015)."""
    scale = np.float32(np.sqrt(2.0 / fan_in))
    return rng.standard_normal((fan_in, fan_out), dtype=np.float32) * scale


class MLP:
    """Dense layers with ReLU between them and a linear last one, in float32."""

    def __init__(self, sizes: Sequence[int], *, max_batch: int, seed: int | None = None) -> None:
        if len(sizes) < 2 or min(sizes) < 1:
            raise ValueError(f"an MLP needs an input and an output size, not {list(sizes)}")
        if max_batch < 1:
            raise ValueError(f"max_batch is at least 1, not {max_batch}")
        rng = np.random.default_rng(seed)
        self.sizes: Final = tuple(sizes)
        self.max_batch: Final = max_batch
        self.weights: Final = [
            he_normal(rng, fan_in, fan_out) for fan_in, fan_out in pairwise(sizes)
        ]
        self.biases: Final = [np.zeros(size, np.float32) for size in sizes[1:]]
        self._activations = [np.empty((max_batch, size), np.float32) for size in sizes[1:]]

    def forward(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map (batch, sizes[0]) to (batch, sizes[-1]).

        The next call overwrites the returned array: copy what has to last.
        """
        self._check(x)
        n = len(x)
        last = len(self.weights) - 1
        h = x
        for i, (weight, bias, buffer) in enumerate(
            zip(self.weights, self.biases, self._activations, strict=True)
        ):
            h = np.matmul(h, weight, out=buffer[:n])
            h += bias
            if i < last:
                np.maximum(h, 0.0, out=h)
        return h

    def _check(self, x: NDArray[np.float32]) -> None:
        if x.ndim != 2 or x.shape[1] != self.sizes[0]:
            raise ValueError(f"expected an input of shape (batch, {self.sizes[0]}), not {x.shape}")
        if len(x) > self.max_batch:
            raise ValueError(f"a batch of {len(x)} does not fit max_batch={self.max_batch}")
        # NumPy would take float64 without a word and convert it in every call.
        if x.dtype != np.float32:
            raise TypeError(f"expected a float32 input, not {x.dtype}: convert it once with astype")
