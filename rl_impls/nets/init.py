"""First weights, of shape (fan_in, fan_out)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.errors import SettingError

Weights = NDArray[np.float32]


def he_normal(rng: np.random.Generator, fan_in: int, fan_out: int) -> Weights:
    """Weights from N(0, 2 / fan_in), which keep the variance of ReLU layers (He et al., 2015)."""
    scale = np.float32(np.sqrt(2.0 / fan_in))
    return rng.standard_normal((fan_in, fan_out), dtype=np.float32) * scale


def he_uniform(rng: np.random.Generator, fan_in: int, fan_out: int) -> Weights:
    """The same variance from U(-b, b), b = sqrt(6 / fan_in)."""
    return _uniform(rng, fan_in, fan_out, math.sqrt(6.0 / fan_in))


def xavier_uniform(rng: np.random.Generator, fan_in: int, fan_out: int) -> Weights:
    """Weights from U(-b, b), b = sqrt(6 / (fan_in + fan_out)), for tanh (Glorot & Bengio, 2010)."""
    return _uniform(rng, fan_in, fan_out, math.sqrt(6.0 / (fan_in + fan_out)))


def _uniform(rng: np.random.Generator, fan_in: int, fan_out: int, bound: float) -> Weights:
    return rng.uniform(-bound, bound, (fan_in, fan_out)).astype(np.float32)


INITS: Final[dict[str, Callable[[np.random.Generator, int, int], Weights]]] = {
    init.__name__: init for init in (he_uniform, xavier_uniform, he_normal)
}


def init_named(name: str) -> Callable[[np.random.Generator, int, int], Weights]:
    if name not in INITS:
        raise SettingError(f"there is no init {name!r}: choose one of {', '.join(INITS)}.")
    return INITS[name]
