"""A pipeline as one writes it first, to be compared with that of `rl_impls.runtimes.actor_learner`.

One lock is shared by all rings, as by the collectors of one locked queue: writers hold it for the
copy only, the learner, with `lock="batch"`, also while it moves a whole batch to the replay. The
kernel takes it back from a process that died. The learner looks for rows every so often instead of
being woken, and weights are compared in full at either end.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Final, Literal, get_args

import numpy as np

from rl_impls.agents.dqn import DQNSettings
from rl_impls.errors import SettingError, positive
from rl_impls.registry import ACTOR_LEARNER_PRESETS
from rl_impls.replay.uniform import UniformReplay
from rl_impls.runtimes.actor_learner.learner import Collector
from rl_impls.runtimes.actor_learner.ring import BLOCKED_NS, Bell, RowRing, Rows, WhenFull
from rl_impls.runtimes.actor_learner.settings import PipelineSettings
from rl_impls.runtimes.actor_learner.train import Transport
from rl_impls.runtimes.actor_learner.weights import Arrays, SharedWeights, copied
from rl_impls.runtimes.processes import Member, NamelessMemory

# Held by nobody; by whoever copies rows, and for the copy only; by the learner also while it moves
# a whole batch to the replay.
Lock = Literal["none", "copy", "batch"]


@dataclass(frozen=True, slots=True)
class FirstSettings(PipelineSettings):
    """Settings in which a first pipeline may differ; as they stand here it does not."""

    lock: Lock = "none"  # one for all rings
    poll_s: float | None = None  # the learner looks so often, instead of being woken
    compare: bool = False  # all weights at either end, instead of checksum and version

    def __post_init__(self) -> None:
        PipelineSettings.__post_init__(self)
        if self.lock not in get_args(Lock):
            raise SettingError(f"lock is {', '.join(get_args(Lock))}, and not {self.lock!r}.")
        if self.poll_s is not None:
            positive(poll_s=self.poll_s)


@dataclass(frozen=True, slots=True)
class PipelinePreset:
    pipeline: FirstSettings
    batches_an_update: int = 1  # of those the agent's own settings tell of

    def learner(self, settings: DQNSettings) -> DQNSettings:
        """What the agent learns with, given what it would in one process."""
        return settings.in_larger_batches(self.batches_an_update)


PRESETS: Final[dict[str, PipelinePreset]] = {
    "original": PipelinePreset(
        FirstSettings(
            lock="batch",
            batch_rows=32,
            stage_rows=1,
            poll_s=1e-3,
            compare=True,
            publish_interval=1,
            sync_interval=1,
        )
    ),
    "optimised": PipelinePreset(FirstSettings(), ACTOR_LEARNER_PRESETS["optimised"]),
}


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
            self._marks[BLOCKED_NS] += time.monotonic_ns() - asked
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
        version, _ = copied(self._marks, self._copies, self._flat)
        at = 0
        for array in arrays:
            news = self._flat[at : at + array.size]
            if not np.array_equal(array, news):
                array[...] = news
            at += array.size
        return int(version)


class FirstCollector(Collector):
    """Looks for rows every `poll_s`, where that is given, and holds a lock while it moves them."""

    def __init__(
        self,
        rings: Sequence[RowRing],
        members: Sequence[Member],
        data: Bell,
        *,
        held: NamelessMemory | None,
        poll_s: float | None,
        until: Connection | None,
    ) -> None:
        super().__init__(rings, members, data, until=until)
        self._held: Final = held
        self._poll_s: Final = poll_s

    def _sleep(self, n: int) -> None:
        if self._poll_s is None:
            super()._sleep(n)
            return
        time.sleep(self._poll_s)
        self._hear(wait(self._watched(), 0))

    def move_to(self, replay: UniformReplay) -> int:
        with self._held.locked() if self._held else nullcontext():
            return super().move_to(replay)


class FirstTransport(Transport):
    """The transport that `FirstSettings` ask for."""

    def __init__(self, agent: Any, settings: PipelineSettings) -> None:
        assert isinstance(settings, FirstSettings)
        self._first: Final = settings
        self._lock: Final = NamelessMemory(1)
        super().__init__(agent, settings)

    def _make_ring(self, words: int) -> RowRing:
        first = self._first
        if first.lock == "none":
            return super()._make_ring(words)
        kind = LockedRing if first.lock == "copy" else HeldRing
        return kind(first.capacity, words, self._lock, when_full=first.when_full, data=self.data)

    def _make_weights(self, size: int) -> SharedWeights:
        return ComparedWeights(size) if self._first.compare else SharedWeights(size)

    def collector(self, members: Sequence[Member], until: Connection | None) -> Collector:
        return FirstCollector(
            self.rings, members, self.data,
            held=self._lock if self._first.lock == "batch" else None,
            poll_s=self._first.poll_s, until=until,
        )  # fmt: skip
