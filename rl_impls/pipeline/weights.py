"""The weights of a policy, from the one process that learns to all that act.

There are two copies. The writer fills the one that nobody was sent to, and then sends readers
there. Each copy has a count that is odd while it is written to, so that a reader that was
overtaken, by two publications during its own copying, sees it and copies again (a sequence lock;
Boehm, 2012, on its fences). Nobody holds anything: a writer killed halfway leaves the other copy
whole.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.pipeline import weight_kernels as kernels
from rl_impls.runtimes.memory import NamelessMemory

Arrays = Sequence[NDArray[np.float32]]
_WORD: Final = 8


class SharedWeights:
    """Room for `size` float32 numbers, twice. Pickling hands it to a process that is started.

    One process publishes. Any number of them copy, each as often as it likes.
    """

    def __init__(self, size: int, memory: NamelessMemory | None = None) -> None:
        self.size: Final = size
        marks_bytes = _WORD * kernels.N_WORDS
        # Either copy begins with a line of its own.
        stride = -(-size // kernels.LINE_FLOATS) * kernels.LINE_FLOATS
        self._memory: Final = memory or NamelessMemory(marks_bytes + 4 * 2 * stride)
        buffer = self._memory.buffer
        self._marks: Final = np.frombuffer(buffer, np.int64, kernels.N_WORDS)
        copies = np.frombuffer(buffer, np.float32, 2 * stride, offset=marks_bytes)
        self._copies: Final = copies.reshape(2, stride)[:, :size]
        self._flat: Final = np.zeros(size, np.float32)
        self._checksum: int | None = None
        self.n_overtaken = 0  # how often this reader had to copy again

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.size, self._memory)

    @property
    def version(self) -> int:
        """Of what was published last; 0 before that."""
        return int(kernels.newest(self._marks))

    def publish(self, arrays: Arrays, version: int) -> bool:
        """Let readers have these, under a number above the last one's; False if they have them.

        Whether they changed is told by a checksum: the last ones are nowhere compared, nor kept.
        """
        np.concatenate(arrays, out=self._flat)
        if not self._has_news():
            return False
        if version <= self.version:
            raise ValueError(f"version {version} comes after {self.version}: count upwards")
        kernels.publish(self._marks, self._copies, self._flat, version)
        return True

    def _has_news(self) -> bool:
        before, self._checksum = self._checksum, zlib.crc32(self._flat.data)
        return self._checksum != before

    def copy_to(self, arrays: Arrays, have: int = 0) -> int:
        """Copy what was published last, unless it is version `have`; returns its version."""
        version = self.version
        if version == have:
            return have
        version, n_overtaken = kernels.copied(self._marks, self._copies, self._flat)
        self.n_overtaken += int(n_overtaken)
        at = 0
        for array in arrays:
            array[...] = self._flat[at : at + array.size]
            at += array.size
        return int(version)
