"""The steps of a ring that two processes share, compiled: each is one call that never waits.

Cursors count rows since the first one; row n lies in slot n % capacity. `HEAD` belongs to the
writer and is stored with release after the rows it covers; the reader loads it with acquire before
it looks at them. `TAIL` goes the other way: slots are free for the writer once it sees it.
"""

from __future__ import annotations

from typing import Any, Final

from rl_impls.jit import compiled, inlined
from rl_impls.pipeline.atomics import (
    fence_all,
    fence_reads,
    fence_writes,
    load_acquire,
    store_release,
    swap_if,
)
from rl_impls.pipeline.copying import copy_rows

# Two lines of 64 bytes: some processors fetch them in pairs, and some have lines of 128.
LINE_WORDS: Final = 16
# The writer's line, the reader's, and one each for who wants to be woken.
HEAD, SEEN_TAIL, DROPPED, BLOCKED_NS = range(4)
TAIL, SEEN_HEAD = LINE_WORDS, LINE_WORDS + 1
WAKE_READER_AT, WAKE_WRITER_AT = 2 * LINE_WORDS, 3 * LINE_WORDS
N_WORDS: Final = 4 * LINE_WORDS

WAIT, DROP_OLDEST, DROP_NEWEST = range(3)


@inlined
def _copy_in(ring: Any, begin: int, rows: Any, first: int, n: int) -> None:
    slot = begin % len(ring)
    n_to_end = min(n, len(ring) - slot)
    copy_rows(ring, slot, rows, first, n_to_end)
    copy_rows(ring, 0, rows, first + n_to_end, n - n_to_end)


@inlined
def _copy_out(ring: Any, begin: int, out: Any, n: int) -> None:
    slot = begin % len(ring)
    n_to_end = min(n, len(ring) - slot)
    copy_rows(out, 0, ring, slot, n_to_end)
    copy_rows(out, n_to_end, ring, 0, n - n_to_end)


@inlined
def _room(marks: Any, capacity: int, wanted: int) -> Any:
    """Free slots, at least as many as there are; looks at the reader's line only if it must."""
    room = capacity - (marks[HEAD] - marks[SEEN_TAIL])
    if room < wanted:
        marks[SEEN_TAIL] = load_acquire(marks, TAIL)
        room = capacity - (marks[HEAD] - marks[SEEN_TAIL])
    return room


@inlined
def _drop_oldest(marks: Any, capacity: int, n: int) -> None:
    """Take the oldest rows from the reader until `n` slots are free."""
    goal = marks[HEAD] + n - capacity
    tail = load_acquire(marks, TAIL)
    while tail < goal:
        if swap_if(marks, TAIL, tail, goal):
            marks[DROPPED] += goal - tail
            tail = goal
        else:
            tail = load_acquire(marks, TAIL)
    marks[SEEN_TAIL] = tail
    # No slot is overwritten before the reader can see that it was taken away.
    fence_writes()


@inlined
def _due(marks: Any, wish: int, cursor: int) -> bool:
    """Whether the other side sleeps until this cursor: then it has to be woken, once."""
    # The cursor is visible before the wish is read, as the sleeper's wish is before it reads the
    # cursor: one of both sees the other.
    fence_all()
    wanted = load_acquire(marks, wish)
    return wanted != 0 and cursor >= wanted and swap_if(marks, wish, wanted, 0)


@compiled
def put(marks: Any, ring: Any, rows: Any, begin: int, when_full: int) -> tuple[int, bool]:
    """Write the rows from `begin` on. Returns how many need no further care, being in the ring
    or dropped, and whether the reader has to be woken."""
    if rows.shape[1] != ring.shape[1]:
        raise ValueError("these rows are not as wide as the ring's")
    wanted = len(rows) - begin
    room = _room(marks, len(ring), wanted)
    n = min(wanted, room)
    if n < wanted and when_full == DROP_OLDEST:
        n = min(wanted, len(ring))
        # More than a ring full: its own oldest rows go first.
        marks[DROPPED] += wanted - n
        begin += wanted - n
        _drop_oldest(marks, len(ring), n)
    elif n < wanted and when_full == DROP_NEWEST:
        marks[DROPPED] += wanted - n
    if n == 0:
        return (0 if when_full == WAIT else wanted), False
    head = marks[HEAD]
    _copy_in(ring, head, rows, begin, n)
    store_release(marks, HEAD, head + n)
    taken = n if when_full == WAIT else wanted
    return taken, _due(marks, WAKE_READER_AT, head + n)


@compiled
def take(marks: Any, ring: Any, out: Any, when_full: int) -> tuple[int, int, bool]:
    """Move the oldest rows to `out`; those from the first to the second result are good. And
    whether the writer has to be woken."""
    if out.shape[1] != ring.shape[1]:
        raise ValueError("these rows are not as wide as the ring's")
    while True:
        tail = load_acquire(marks, TAIL)
        n = min(len(out), readable(marks, tail, len(out)))
        if n == 0:
            return 0, 0, False
        _copy_out(ring, tail, out, n)
        if when_full != DROP_OLDEST:
            store_release(marks, TAIL, tail + n)
            return 0, n, _due(marks, WAKE_WRITER_AT, tail + n)
        # The writer may have overwritten what it took away meanwhile, and nothing beyond.
        fence_reads()
        left = load_acquire(marks, TAIL)
        while left < tail + n:
            if swap_if(marks, TAIL, left, tail + n):
                return left - tail, n, False
            left = load_acquire(marks, TAIL)


@inlined
def readable(marks: Any, tail: int, wanted: int) -> Any:
    """Whole rows from the tail on; looks at the writer's line only if it must."""
    n = marks[SEEN_HEAD] - tail
    if n < wanted:
        marks[SEEN_HEAD] = load_acquire(marks, HEAD)
        n = marks[SEEN_HEAD] - tail
    return n


@compiled
def count(marks: Any, capacity: int) -> int:
    """Rows in the ring; for anybody, and a moment later there may be others."""
    # In this order: a tail is never beyond a head that was read later.
    tail = load_acquire(marks, TAIL)
    return min(load_acquire(marks, HEAD) - tail, capacity)


@compiled
def release(marks: Any, n: int) -> bool:
    """The reader needs its oldest `n` rows no more; whether the writer has to be woken."""
    tail = marks[TAIL] + n
    store_release(marks, TAIL, tail)
    return _due(marks, WAKE_WRITER_AT, tail)


@compiled
def sleeps(marks: Any, wish: int, cursor: int, wanted: int, enough: int) -> bool:
    """Ask to be woken when a cursor gets to `wanted`; False if it is at `enough` already."""
    store_release(marks, wish, wanted)
    fence_all()
    if load_acquire(marks, cursor) < enough:
        return True
    # If somebody was quicker, a wake-up is on its way, and does no harm.
    swap_if(marks, wish, wanted, 0)
    return False


@compiled
def woken_early(marks: Any, wish: int) -> bool:
    """Whether somebody sleeps; from now on, not for this wish."""
    fence_all()
    wanted = load_acquire(marks, wish)
    return wanted != 0 and swap_if(marks, wish, wanted, 0)
