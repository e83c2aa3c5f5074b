"""Operators of torch, as its own profiler counts them: below Python, and on every device."""

import sys
from collections import defaultdict
from typing import Any

from pytest_rlperf.measure.clock import Elapsed

US = 1_000
"""What its times are in, in ns."""


class OperatorWatch:
    """Of slices of tests that have imported torch, which is not done here."""

    def __init__(self, profiler: Any) -> None:
        """`profiler` is the module `torch.profiler`."""
        self._profiler = profiler
        self._profile: Any = None
        self._calls: dict[str, int] = defaultdict(int)
        self._ns: dict[str, float] = defaultdict(float)
        self._slices = 0

    def start(self) -> None:
        self._profile = self._profiler.profile()
        self._profile.start()

    def stop(self) -> None:
        self._profile.stop()

    def note(self, elapsed: Elapsed) -> None:
        self._slices += 1
        for event in self._profile.key_averages():
            if not event.key.startswith("["):  # such as [memory], which is no operator
                # Since torch 2.4; before, a device was always CUDA.
                on_device = getattr(event, "self_device_time_total", 0.0)
                self._calls[event.key] += event.count
                self._ns[event.key] += (event.self_cpu_time_total + on_device) * US

    def facts(self, calls: int) -> dict[str, Any]:
        number = max(1, self._slices * calls)
        return {
            "operators": [
                [name, count / number, self._ns[name] / number]
                for name, count in self._calls.items()
            ]
        }


def operator_watches() -> tuple[OperatorWatch, ...]:
    """None where there is nothing of torch to watch."""
    profiler = getattr(sys.modules.get("torch"), "profiler", None)
    return (OperatorWatch(profiler),) if hasattr(profiler, "profile") else ()
