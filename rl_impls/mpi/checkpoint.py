"""What all ranks have agreed on so far, in a file: whole, or not there."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rl_impls.tabular.learner import QLearner

EVERY_S: Final = 10.0


class Checkpoint:
    """Writes what it is offered, but not oftener than every so many seconds; the first at once."""

    def __init__(
        self, path: Path, *, every_s: float = EVERY_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._path: Final = path
        self._every_s: Final = every_s
        self._clock: Final = clock
        self._due = float("-inf")

    def offer(self, snapshot: Callable[[], QLearner]) -> None:
        if self._clock() >= self._due:
            self.write(snapshot)

    def write(self, snapshot: Callable[[], QLearner]) -> None:
        snapshot().save(self._path)
        self._due = self._clock() + self._every_s
