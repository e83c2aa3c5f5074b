"""Sampled stacks, for the flame graph.

A timer interrupts the slice; the interpreter looks at it when it gets from one instruction to the
next, so a native function shows as the Python function that called it.
"""

import signal
import threading
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

from pytest_rlperf.measure.clock import Elapsed
from pytest_rlperf.measure.profiling.entries import is_own

INTERVAL_S = 0.001
DEEPEST = 200


class StackWatch:
    """Counts a sample for as much time as has passed since the one before it."""

    def __init__(self, read_ns: Callable[[], int]) -> None:
        self._read_ns = read_ns
        # Only the main thread gets signals; elsewhere there is no picture.
        self._possible = threading.current_thread() is threading.main_thread()
        self._found: Counter[tuple[tuple[str, str], ...]] = Counter()
        self._slices = 0
        self._last_ns = 0
        self._before: Any = None

    def start(self) -> None:
        if self._possible:
            self._before = (
                signal.signal(signal.SIGALRM, self._sample),
                signal.getitimer(signal.ITIMER_REAL),
            )
            self._last_ns = self._read_ns()
            signal.setitimer(signal.ITIMER_REAL, INTERVAL_S, INTERVAL_S)

    def stop(self) -> None:
        if self._possible:
            handler, timer = self._before
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
            signal.setitimer(signal.ITIMER_REAL, *timer)

    def note(self, elapsed: Elapsed) -> None:
        self._slices += 1

    def _sample(self, _signal: int, frame: FrameType | None) -> None:
        now = self._read_ns()
        if stack := _stack(frame):
            self._found[stack] += now - self._last_ns
        self._last_ns = now

    def facts(self, calls: int) -> dict[str, Any]:
        number = max(1, self._slices * calls)
        return {
            "stacks": [
                [[list(name) for name in stack], ns / number] for stack, ns in self._found.items()
            ]
        }


def _stack(frame: FrameType | None) -> tuple[tuple[str, str], ...]:
    """From the measured function down; empty where the sample hit this package."""
    names: list[tuple[str, str]] = []
    while frame is not None and len(names) < DEEPEST:
        file = frame.f_code.co_filename
        if is_own(file):
            break
        names.append((file, frame.f_code.co_qualname))
        frame = frame.f_back
    return tuple(reversed(names))
