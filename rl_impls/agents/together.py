"""Several networks that learn as one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def clip_together(grads: Sequence[NDArray[Any]], most: float) -> float:
    """g <- g min(1, most / |g|) with g all arrays end to end; returns |g| before."""
    norm = math.sqrt(sum(float(np.dot(part, part)) for part in grads))
    if most < norm < math.inf:
        for part in grads:
            part *= most / norm
    return norm
