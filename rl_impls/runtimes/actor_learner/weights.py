"""The weights of a policy, from the one process that learns to all that act."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.jit import compiled, inlined
from rl_impls.runtimes.actor_learner.atomics import (
    fence_reads,
    fence_writes,
    load_acquire,
    store_release,
)
from rl_impls.runtimes.processes import NamelessMemory

LINE_WORDS: Final = 16
LINE_FLOATS: Final = 2 * LINE_WORDS
# Which copy is the newest and its version, as version * 2 + copy; then the count of each copy.
NEWEST = 0
COUNTS = LINE_WORDS
N_WORDS: Final = 2 * LINE_WORDS


@inlined
def move(source: Any, goal: Any) -> None:
    for i in range(len(goal)):
        goal[i] = source[i]


@compiled
def newest(marks: Any) -> int:
    """Return the version of what was published last."""
    return load_acquire(marks, NEWEST) >> 1


@compiled
def publish(marks: Any, copies: Any, weights: Any, version: int) -> None:
    copy = 1 - (marks[NEWEST] & 1)
    count = marks[COUNTS + copy]
    marks[COUNTS + copy] = count + 1
    fence_writes()  # the odd count is there before the first weight changes
    move(weights, copies[copy])
    store_release(marks, COUNTS + copy, count + 2)
    store_release(marks, NEWEST, 2 * version + copy)


@compiled
def copied(marks: Any, copies: Any, weights: Any) -> tuple[int, int]:
    """Copy the newest weights; returns their version, and how often the writer was quicker."""
    n_overtaken = 0
    while True:
        latest = load_acquire(marks, NEWEST)
        copy = latest & 1
        count = load_acquire(marks, COUNTS + copy)
        # An even count may already be a later one's: then the newest has moved on as well.
        if count & 1 == 0 and load_acquire(marks, NEWEST) == latest:
            move(copies[copy], weights)
            fence_reads()  # the last weight is read before the count is looked at again
            if load_acquire(marks, COUNTS + copy) == count:
                return latest >> 1, n_overtaken
        n_overtaken += 1


# The weights of a policy, from the one process that learns to all that act.
#
# There are two copies. The writer fills the one that nobody was sent to, and then sends readers
# there. Each copy has a count that is odd while it is written to, so that a reader that was
# overtaken, by two publications during its own copying, sees it and copies again (a sequence lock;
# Boehm, 2012, on its fences). Nobody holds anything: a writer killed halfway leaves the other copy
# whole.


Arrays = Sequence[NDArray[np.float32]]
_WORD: Final = 8


class SharedWeights:
    """Room for `size` float32 numbers, twice. Pickling hands it to a process that is started.

    One process publishes. Any number of them copy, each as often as it likes.
    """

    def __init__(self, size: int, memory: NamelessMemory | None = None) -> None:
        self.size: Final = size
        marks_bytes = _WORD * N_WORDS
        # Either copy begins with a line of its own.
        stride = -(-size // LINE_FLOATS) * LINE_FLOATS
        self._memory: Final = memory or NamelessMemory(marks_bytes + 4 * 2 * stride)
        buffer = self._memory.buffer
        self._marks: Final = np.frombuffer(buffer, np.int64, N_WORDS)
        copies = np.frombuffer(buffer, np.float32, 2 * stride, offset=marks_bytes)
        self._copies: Final = copies.reshape(2, stride)[:, :size]
        self._flat: Final = np.zeros(size, np.float32)
        self._checksum: int | None = None
        self.n_overtaken = 0  # how often this reader had to copy again

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.size, self._memory)

    @property
    def version(self) -> int:
        """The version that was published last; 0 before that."""
        return int(newest(self._marks))

    def publish(self, arrays: Arrays, version: int) -> bool:
        """Let readers have these, under a number above the last one's; False if they have them.

        Whether they changed is told by a checksum: the last ones are nowhere compared, nor kept.
        """
        np.concatenate(arrays, out=self._flat)
        if not self._has_news():
            return False
        if version <= self.version:
            raise ValueError(f"version {version} comes after {self.version}: count upwards")
        publish(self._marks, self._copies, self._flat, version)
        return True

    def _has_news(self) -> bool:
        before, self._checksum = self._checksum, zlib.crc32(self._flat.data)
        return self._checksum != before

    def copy_to(self, arrays: Arrays, have: int = 0) -> int:
        """Copy what was published last, unless it is version `have`; returns its version."""
        version = self.version
        if version == have:
            return have
        version, n_overtaken = copied(self._marks, self._copies, self._flat)
        self.n_overtaken += int(n_overtaken)
        at = 0
        for array in arrays:
            array[...] = self._flat[at : at + array.size]
            at += array.size
        return int(version)
