"""The learner's end of all rings: it sleeps until rows are there, and moves them to the replay."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from multiprocessing.connection import Connection, wait
from typing import Any, Final

import numpy as np

from rl_impls.pipeline.bell import Bell
from rl_impls.pipeline.ring import RowRing, Rows
from rl_impls.replay.uniform import UniformReplay
from rl_impls.runtimes.memory import NamelessMemory
from rl_impls.runtimes.processes import Member


class Collector:
    """Rings that share one bell, each with the process that writes to it."""

    def __init__(
        self,
        rings: Sequence[RowRing],
        members: Sequence[Member],
        data: Bell,
        *,
        held: NamelessMemory | None = None,
        poll_s: float | None = None,
        until: Connection | None = None,
    ) -> None:
        """`held` is locked while rows are moved; `until` ends a wait by having something to say."""
        self._rings: Final = rings
        self._data: Final = data
        self._held: Final = held
        self._poll_s: Final = poll_s
        self._until: Final = [until] if until else []
        # Those that write still, by the connection over which they tell that they are done.
        self._open: Final[dict[Connection, Member]] = {member.pipe: member for member in members}
        self._room: Final[Mapping[int, Rows]] = {
            id(ring): np.zeros((ring.capacity, ring.words), np.uint64)
            for ring in rings
            if not ring.in_place
        }

    def __len__(self) -> int:
        """Rows that wait in all rings."""
        return sum(len(ring) for ring in self._rings)

    @property
    def n_dropped(self) -> int:
        return sum(ring.n_dropped for ring in self._rings)

    @property
    def blocked_ns(self) -> int:
        """How long all writers together waited."""
        return sum(ring.blocked_ns for ring in self._rings)

    def wait(self, n: int) -> int:
        """Sleep until `n` rows are there, or all that will ever be; returns how many.

        A process that ended before its work raises `WorkerDied` here.
        """
        # Where rows are always there, nobody sleeps, and a death has to be noticed nonetheless.
        self._hear(wait(self._watched(), 0))
        while (there := len(self)) < n and self._open:
            if self._poll_s is None:
                self._sleep(n - there)
            else:
                time.sleep(self._poll_s)
                self._hear(wait(self._watched(), 0))
        return len(self)

    def _watched(self) -> list[Connection]:
        return [*self._open, *self._until]

    def _sleep(self, n: int) -> None:
        """Until about `n` more rows are there, or somebody has something to say."""
        # Each ring may be the one to bring the rest; the share keeps wake-ups few.
        share = -(-n // len(self._rings))
        sleeps = [ring.asks_for(len(ring) + share) for ring in self._rings]
        if all(sleeps):
            self._hear(self._data.wait(self._watched()))

    def _hear(self, pipes: Iterable[Any]) -> None:
        """All that a process ever says is that it is done."""
        for pipe in pipes:
            if pipe in self._until:
                raise EOFError("nobody waits for this training any more")
            self._open[pipe].answer()
            del self._open[pipe]

    def move_to(self, replay: UniformReplay) -> int:
        """All rows that are there now, oldest first of each ring; returns how many."""
        with self._held.locked() if self._held else nullcontext():
            return sum(self._move(ring, replay) for ring in self._rings)

    def _move(self, ring: RowRing, replay: UniformReplay) -> int:
        if not ring.in_place:
            rows = ring.take(self._room[id(ring)])
            replay.add_rows(rows.view(np.float32))
            return len(rows)
        n = 0
        for _ in range(2):  # to the end of the memory, and from its beginning
            rows = ring.peek()
            replay.add_rows(rows.view(np.float32))
            ring.release(len(rows))
            n += len(rows)
        return n
