"""Publishing and copying weights, compiled; see `weights`."""

from __future__ import annotations

from typing import Any, Final

from rl_impls.jit import compiled, inlined
from rl_impls.pipeline.atomics import fence_reads, fence_writes, load_acquire, store_release

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
    """The version of what was published last."""
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
        found = load_acquire(marks, NEWEST)
        copy = found & 1
        count = load_acquire(marks, COUNTS + copy)
        # An even count may already be a later one's: then the newest has moved on as well.
        if count & 1 == 0 and load_acquire(marks, NEWEST) == found:
            move(copies[copy], weights)
            fence_reads()  # the last weight is read before the count is looked at again
            if load_acquire(marks, COUNTS + copy) == count:
                return found >> 1, n_overtaken
        n_overtaken += 1
