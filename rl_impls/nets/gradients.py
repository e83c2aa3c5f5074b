"""What is done to flat arrays of parameters and gradients between two steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rl_impls.errors import SettingError
from rl_impls.nets.ops import fastest


def clip_by_norm(grads: NDArray[Any], most: float = 0.5) -> float:
    """g <- g min(1, most / |g|), in place; returns |g| before (Pascanu et al., 2013).

    A gradient that is not finite stays what it is, and so is the norm that is returned.
    """
    if not most > 0.0:
        raise SettingError(f"the norm to clip to lies above 0, not at {most}.")
    norm = norm_of(grads)
    if most < norm < math.inf:
        grads *= most / norm
    return norm


def norm_of(grads: NDArray[Any]) -> float:
    """|g|; finite where all of it is."""
    with np.errstate(over="ignore"):
        norm = math.sqrt(np.dot(grads, grads))
    if math.isinf(norm):  # the squares may be too large for float32 where their root is not
        norm = float(np.linalg.norm(grads.astype(np.float64)))
    return norm


class Polyak:
    """w' <- w' + tau (w - w'): a target network that follows slowly (Lillicrap et al., 2016)."""

    def __init__(self, target: NDArray[Any], source: NDArray[Any], tau: float = 0.005) -> None:
        if not 0.0 <= tau <= 1.0:
            raise SettingError(f"tau lies between 0 and 1, not at {tau}.")
        self._target, self._source = target, source
        self._constants = np.array([tau], target.dtype)
        self._towards = fastest().towards

    def step(self) -> None:
        self._towards(self._target, self._source, self._constants)
