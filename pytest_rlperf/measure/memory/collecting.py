"""Python's cyclic garbage collector: how often it ran by itself, and for how long."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Collections:
    """Counts within `counted` only: what is collected between the calls is not the test's."""

    def __init__(self) -> None:
        self.number = 0
        self.pause_ns = 0
        self._begun_ns = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        gc.callbacks.append(self._take)
        try:
            yield
        finally:
            gc.callbacks.remove(self._take)

    def _take(self, phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            self._begun_ns = time.perf_counter_ns()
        else:
            self.number += 1
            self.pause_ns += time.perf_counter_ns() - self._begun_ns
