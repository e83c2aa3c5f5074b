"""Rows from one process to another, through shared memory and without a lock.

One process writes and one reads. Neither ever holds anything that the other needs, so either may be
killed at any moment: the other finds whole rows up to where it came.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rl_impls.errors import SettingError
from rl_impls.pipeline import ring_kernels as kernels
from rl_impls.pipeline.bell import Bell
from rl_impls.runtimes.memory import NamelessMemory

Rows = NDArray[np.uint64]  # (n, words): rows as words of 8 bytes, whatever they mean
WhenFull = Literal["wait", "drop-oldest", "drop-newest"]
_CODES: Final[dict[str, int]] = {
    "wait": kernels.WAIT,
    "drop-oldest": kernels.DROP_OLDEST,
    "drop-newest": kernels.DROP_NEWEST,
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
        marks_bytes = _WORD * kernels.N_WORDS
        self._memory: Final = memory or NamelessMemory(marks_bytes + _WORD * capacity * words)
        buffer = self._memory.buffer
        self._marks: Final = np.frombuffer(buffer, np.int64, kernels.N_WORDS)
        slots = np.frombuffer(buffer, np.uint64, capacity * words, offset=marks_bytes)
        self._slots: Final[Rows] = slots.reshape(capacity, words)
        self._code: Final = _CODES[when_full]

    def __reduce__(self) -> tuple[Any, ...]:
        return _ring, self._parts()

    def _parts(self) -> tuple[Any, ...]:
        return self.capacity, self.words, self.when_full, self.data, self.room, self._memory

    @property
    def in_place(self) -> bool:
        """Whether the reader may look at rows where they lie."""
        return self._code != kernels.DROP_OLDEST

    def __len__(self) -> int:
        """Rows that wait to be read."""
        return int(kernels.count(self._marks, self.capacity))

    @property
    def n_written(self) -> int:
        """Rows that were ever in the ring, those that were dropped from it included."""
        return int(self._marks[kernels.HEAD])

    @property
    def n_dropped(self) -> int:
        """Counted by the writer, which alone drops."""
        return int(self._marks[kernels.DROPPED])

    @property
    def blocked_ns(self) -> int:
        """How long the writer waited: for room, and for a lock where there is one."""
        return int(self._marks[kernels.BLOCKED_NS])

    # -- the writer's side ---------------------------------------------------------------------

    def offer(self, rows: Rows, begin: int = 0) -> int:
        """Write from `begin` on, without waiting; how many of those are dealt with: in the ring, or
        dropped where rows are dropped."""
        n, wakes = kernels.put(self._marks, self._slots, rows, begin, self._code)
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
            if kernels.sleeps(
                self._marks, kernels.WAKE_WRITER_AT, kernels.TAIL, goal, full + 1
            ) and self.room.wait(watched):
                raise EOFError("nobody reads any more")
            self._marks[kernels.BLOCKED_NS] += time.monotonic_ns() - begin
            done += self.offer(rows, done)

    # -- the reader's side ---------------------------------------------------------------------

    def take(self, out: Rows) -> Rows:
        """Move up to `len(out)` of the oldest rows there, without waiting; those that came."""
        begin, end, wakes = kernels.take(self._marks, self._slots, out, self._code)
        if wakes:
            self.room.ring()
        return out[begin:end]

    def peek(self) -> Rows:
        """The oldest rows in place, as far as they lie in one piece; `release` gives them back."""
        if not self.in_place:
            raise SettingError("a writer that drops the oldest rows may do so here: use take().")
        begin = int(self._marks[kernels.TAIL]) % self.capacity
        return self._slots[begin : begin + len(self)]

    def release(self, n: int) -> None:
        """The oldest `n` rows may be overwritten."""
        if kernels.release(self._marks, n):
            self.room.ring()

    def asks_for(self, n: int) -> bool:
        """Let `data` be rung when `n` rows are there; False if they are already."""
        goal = int(self._marks[kernels.TAIL]) + min(n, self.capacity)
        if not kernels.sleeps(self._marks, kernels.WAKE_READER_AT, kernels.HEAD, goal, goal):
            return False
        # A writer that waits for more room than this reader will make would wait for ever.
        if kernels.woken_early(self._marks, kernels.WAKE_WRITER_AT):
            self.room.ring()
        return True


def _ring(
    capacity: int, words: int, when_full: WhenFull, data: Bell, room: Bell, memory: NamelessMemory
) -> RowRing:
    return RowRing(
        capacity, words, when_full=when_full, data=data, room=room, memory=memory
    )  # fmt: skip
