"""Several networks that learn as one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from rl_impls.nets.gradients import norm_of


def clip_together(grads: Sequence[NDArray[Any]], most: float) -> float:
    """g <- g min(1, most / |g|) with g all arrays end to end; returns |g| before."""
    norm = math.hypot(*map(norm_of, grads))
    if most < norm < math.inf:
        for part in grads:
            part *= most / norm
    return norm
