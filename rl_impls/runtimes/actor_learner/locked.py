"""The same ring with a lock around every copy, as a measure of what doing without one is worth.

All rings of a pipeline share the lock, as the collectors of one locked queue would. Writers hold it
for the copy only; a reader may hold it for longer. The kernel takes it back from a process that
died.
"""

from __future__ import annotations

import time
from typing import Any, Final

from rl_impls.errors import SettingError
from rl_impls.runtimes.actor_learner import ring as kernels
from rl_impls.runtimes.actor_learner.ring import Bell, RowRing, Rows, WhenFull
from rl_impls.runtimes.processes import NamelessMemory


class LockedRing(RowRing):
    """A `RowRing` whose writer and reader wait for `lock`, which any number of rings share."""

    def __init__(
        self,
        capacity: int,
        words: int,
        lock: NamelessMemory,
        *,
        when_full: WhenFull = "wait",
        data: Bell | None = None,
        room: Bell | None = None,
        memory: NamelessMemory | None = None,
    ) -> None:
        super().__init__(capacity, words, when_full=when_full, data=data, room=room, memory=memory)
        self._lock: Final = lock

    def __reduce__(self) -> tuple[Any, ...]:
        return _locked_ring, (self._lock, *self._parts())

    @property
    def in_place(self) -> bool:
        return False

    def offer(self, rows: Rows, begin: int = 0) -> int:
        asked = time.monotonic_ns()
        with self._lock.locked():
            self._marks[kernels.BLOCKED_NS] += time.monotonic_ns() - asked
            return super().offer(rows, begin)

    def take(self, out: Rows) -> Rows:
        with self._lock.locked():
            return super().take(out)

    def peek(self) -> Rows:
        raise SettingError("rows in place would need the lock for as long: use take().")


class HeldRing(LockedRing):
    """One whose reader has the lock already, for all that it does with the rows."""

    def take(self, out: Rows) -> Rows:
        return RowRing.take(self, out)


def _locked_ring(
    lock: NamelessMemory,
    capacity: int,
    words: int,
    when_full: WhenFull,
    data: Bell,
    room: Bell,
    memory: NamelessMemory,
) -> LockedRing:
    return LockedRing(
        capacity, words, lock, when_full=when_full, data=data, room=room, memory=memory
    )
