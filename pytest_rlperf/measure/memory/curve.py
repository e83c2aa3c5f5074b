"""The course of a tree's memory over time, as memory-profiler samples it: for a picture.

Samples miss what is short, so nothing is judged by them. Without the package there is no curve.
"""

import threading
import time
from importlib.util import find_spec
from types import TracebackType
from typing import Self

import psutil

INTERVAL_S = 0.01
STRETCH_S = 0.1
"""The package samples for a fixed time; after each stretch this one is asked whether to go on."""
MIB = 2**20

Points = list[tuple[float, float]]
"""Seconds since the beginning, and bytes."""


class Curve:
    """Samples a process and its descendants as long as the context lasts."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.points: Points = []

    def __enter__(self) -> Self:
        if find_spec("memory_profiler") is not None:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _sample(self) -> None:
        from memory_profiler import memory_usage

        begun = time.time()
        try:
            while not self._over.is_set():
                found = memory_usage(
                    self._pid,
                    interval=INTERVAL_S,
                    timeout=STRETCH_S,
                    timestamps=True,
                    include_children=True,
                )
                self.points += [(round(at - begun, 3), size * MIB) for size, at in found]
        except psutil.Error:  # it ended
            return
