"""Rows from one process to another, through shared memory and without a lock.

One process writes and one reads. Neither ever holds anything that the other needs, so either may be
killed at any moment: the other finds whole rows up to where it came. Who sleeps is woken by a bell,
a pipe which select and poll can wait for.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rl_impls.errors import SettingError
from rl_impls.jit import compiled, inlined
from rl_impls.runtimes.actor_learner.atomics import (
    copy_rows,
    fence_all,
    fence_reads,
    fence_writes,
    load_acquire,
    store_release,
    swap_if,
)
from rl_impls.runtimes.processes import NamelessMemory

_ROOM: Final = 4096  # bytes; more wake-ups than ever wait


class Bell:
    """A bell that is rung by anybody who holds it, any number of times, and heard once. Pickling
    hands it on."""

    def __init__(self, ends: tuple[int, int] | None = None) -> None:
        self._hears, self._rings = _pipe() if ends is None else ends
        for end in (self._hears, self._rings):
            weakref.finalize(self, os.close, end)

    def __reduce__(self) -> tuple[Any, ...]:
        from multiprocessing.reduction import DupFd

        return _handed_on, (DupFd(self._hears), DupFd(self._rings))

    def fileno(self) -> int:
        return self._hears

    def ring(self) -> None:
        with suppress(BlockingIOError):  # it is full of wake-ups that nobody heard yet
            os.write(self._rings, b"!")

    def hear(self) -> None:
        """Forget all wake-ups so far."""
        with suppress(BlockingIOError):
            while len(os.read(self._hears, _ROOM)) == _ROOM:
                pass

    def wait(self, also: Sequence[Connection] = (), timeout_s: float | None = None) -> list[Any]:
        """Sleep until it is rung or one of `also` is ready; returns which of those are."""
        ready = wait([self._hears, *also], timeout_s)
        if self._hears in ready:
            self.hear()
        return [thing for thing in ready if thing != self._hears]


def _pipe() -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    return ends


def _handed_on(hears: Any, rings: Any) -> Bell:
    return Bell((hears.detach(), rings.detach()))


# The steps of a ring that two processes share, compiled: each is one call that never waits.
#
# Cursors count rows since the first one; row n lies in slot n % capacity. `HEAD` belongs to the
# writer and is stored with release after the rows it covers; the reader loads it with acquire
# before it looks at them. `TAIL` goes the other way: slots are free for the writer once it sees it.


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
    """Return the free slots, at least as many as there are; look at the reader's line only if it
    must."""
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
    """Tell whether the other side sleeps until this cursor: then it has to be woken, once."""
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
    """Return the whole rows from the tail on; look at the writer's line only if it must."""
    n = marks[SEEN_HEAD] - tail
    if n < wanted:
        marks[SEEN_HEAD] = load_acquire(marks, HEAD)
        n = marks[SEEN_HEAD] - tail
    return n


@compiled
def count(marks: Any, capacity: int) -> int:
    """Count the rows in the ring; for anybody, and a moment later there may be others."""
    # In this order: a tail is never beyond a head that was read later.
    tail = load_acquire(marks, TAIL)
    return min(load_acquire(marks, HEAD) - tail, capacity)


@compiled
def release(marks: Any, n: int) -> bool:
    """Free the reader's oldest `n` rows, and tell whether the writer has to be woken."""
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
    """Tell whether somebody sleeps; from now on, not for this wish."""
    fence_all()
    wanted = load_acquire(marks, wish)
    return wanted != 0 and swap_if(marks, wish, wanted, 0)


Rows = NDArray[np.uint64]  # (n, words): rows as words of 8 bytes, whatever they mean
WhenFull = Literal["wait", "drop-oldest", "drop-newest"]
_CODES: Final[dict[str, int]] = {
    "wait": WAIT,
    "drop-oldest": DROP_OLDEST,
    "drop-newest": DROP_NEWEST,
}
_WORD: Final = 8


class RowRing:
    """`capacity` rows of `words` words. Pickling hands it to a process that is being started.

    The bells wake who sleeps: `data` the reader, which may share one bell over many rings, and
    `room` the writer.
    """

    def __init__(
        self,
        capacity: int,
        words: int,
        *,
        when_full: WhenFull = "wait",
        data: Bell | None = None,
        room: Bell | None = None,
        memory: NamelessMemory | None = None,
    ) -> None:
        if capacity < 1 or words < 1:
            raise SettingError(f"a ring has 1 row of 1 word or more, not {capacity} of {words}.")
        if when_full not in get_args(WhenFull):
            raise SettingError(
                f"a full ring can {', '.join(get_args(WhenFull))}, and not {when_full!r}."
            )
        self.capacity: Final = capacity
        self.words: Final = words
        self.when_full: Final[WhenFull] = when_full
        self.data: Final = data or Bell()
        self.room: Final = room or Bell()
        marks_bytes = _WORD * N_WORDS
        self._memory: Final = memory or NamelessMemory(marks_bytes + _WORD * capacity * words)
        buffer = self._memory.buffer
        self._marks: Final = np.frombuffer(buffer, np.int64, N_WORDS)
        slots = np.frombuffer(buffer, np.uint64, capacity * words, offset=marks_bytes)
        self._slots: Final[Rows] = slots.reshape(capacity, words)
        self._code: Final = _CODES[when_full]

    def __reduce__(self) -> tuple[Any, ...]:
        return _ring, self._parts()

    def _parts(self) -> tuple[Any, ...]:
        return self.capacity, self.words, self.when_full, self.data, self.room, self._memory

    @property
    def in_place(self) -> bool:
        """Tell whether the reader may look at rows where they lie."""
        return self._code != DROP_OLDEST

    def __len__(self) -> int:
        """Return the rows that wait to be read."""
        return int(count(self._marks, self.capacity))

    @property
    def n_written(self) -> int:
        """The rows that were ever in the ring, those that were dropped from it included."""
        return int(self._marks[HEAD])

    @property
    def n_dropped(self) -> int:
        """The rows that were dropped, counted by the writer, which alone drops."""
        return int(self._marks[DROPPED])

    @property
    def blocked_ns(self) -> int:
        """The time that the writer waited for room."""
        return int(self._marks[BLOCKED_NS])

    # -- the writer's side ---------------------------------------------------------------------

    def offer(self, rows: Rows, begin: int = 0) -> int:
        """Write from `begin` on, without waiting; how many of those are dealt with: in the ring, or
        dropped where rows are dropped."""
        n, wakes = put(self._marks, self._slots, rows, begin, self._code)
        if wakes:
            self.data.ring()
        return n

    def put(self, rows: Rows, watched: Sequence[Connection] = ()) -> None:
        """Write all rows; a ring that waits sleeps until there is room.

        Whoever else is `watched` ends the wait by having something to say: EOFError.
        """
        done = self.offer(rows)
        if done < len(rows):
            self._wait_to_put(rows, done, watched)

    def _wait_to_put(self, rows: Rows, done: int, watched: Sequence[Connection]) -> None:
        while done < len(rows):
            begin = time.monotonic_ns()
            full = self.n_written - self.capacity
            # Half a ring at once, or every row that the reader takes would wake the writer.
            goal = full + max(1, self.capacity // 2)
            if sleeps(self._marks, WAKE_WRITER_AT, TAIL, goal, full + 1) and self.room.wait(
                watched
            ):
                raise EOFError("nobody reads any more")
            self._marks[BLOCKED_NS] += time.monotonic_ns() - begin
            done += self.offer(rows, done)

    # -- the reader's side ---------------------------------------------------------------------

    def take(self, out: Rows) -> Rows:
        """Move up to `len(out)` of the oldest rows there, without waiting; those that came."""
        begin, end, wakes = take(self._marks, self._slots, out, self._code)
        if wakes:
            self.room.ring()
        return out[begin:end]

    def peek(self) -> Rows:
        """Return the oldest rows in place, as far as they lie in one piece; `release` gives them
        back."""
        if not self.in_place:
            raise SettingError("a writer that drops the oldest rows may do so here: use take().")
        begin = int(self._marks[TAIL]) % self.capacity
        return self._slots[begin : begin + len(self)]

    def release(self, n: int) -> None:
        """Let the oldest `n` rows be overwritten."""
        if release(self._marks, n):
            self.room.ring()

    def asks_for(self, n: int) -> bool:
        """Let `data` be rung when `n` rows are there; False if they are already."""
        goal = int(self._marks[TAIL]) + min(n, self.capacity)
        if not sleeps(self._marks, WAKE_READER_AT, HEAD, goal, goal):
            return False
        # A writer that waits for more room than this reader will make would wait for ever.
        if woken_early(self._marks, WAKE_WRITER_AT):
            self.room.ring()
        return True


def _ring(
    capacity: int, words: int, when_full: WhenFull, data: Bell, room: Bell, memory: NamelessMemory
) -> RowRing:
    return RowRing(
        capacity, words, when_full=when_full, data=data, room=room, memory=memory
    )  # fmt: skip
