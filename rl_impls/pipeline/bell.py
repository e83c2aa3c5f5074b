"""How a process that sleeps is woken by another one: a pipe, which select and poll can wait for."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Final

_ROOM: Final = 4096  # bytes; more wake-ups than ever wait


class Bell:
    """Rung by anybody who holds it, any number of times; heard once. Pickling hands it on."""

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
