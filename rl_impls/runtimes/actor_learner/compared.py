"""The same weights, compared in full, as a measure of what versions and a checksum are worth."""

from __future__ import annotations

import numpy as np

from rl_impls.runtimes.actor_learner import weights as kernels
from rl_impls.runtimes.actor_learner.weights import Arrays, SharedWeights
from rl_impls.runtimes.processes import NamelessMemory


class ComparedWeights(SharedWeights):
    """Either end looks at every number to see whether there are others."""

    def __init__(self, size: int, memory: NamelessMemory | None = None) -> None:
        super().__init__(size, memory)
        self._last = np.full(size, np.nan, np.float32)  # unlike all that is published

    def _has_news(self) -> bool:
        if np.array_equal(self._flat, self._last):
            return False
        self._last[:] = self._flat
        return True

    def copy_to(self, arrays: Arrays, have: int = 0) -> int:
        if self.version == 0:
            return 0
        version, _ = kernels.copied(self._marks, self._copies, self._flat)
        at = 0
        for array in arrays:
            news = self._flat[at : at + array.size]
            if not np.array_equal(array, news):
                array[...] = news
            at += array.size
        return int(version)
