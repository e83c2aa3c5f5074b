"""Throughput, CPU and memory of a training, every so many steps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from rl_impls.monitor.usage import Usage, usage
from rl_impls.runtimes.run import Every, Progress
from rl_impls.runtimes.runtime import Runtime


class Performance(NamedTuple):
    """Since the last report, memory at this moment; all processes of the training together."""

    steps: int  # so far
    steps_per_s: float
    cpu_percent: float  # 100 is one core
    rss_bytes: int


class PerformanceMonitor:
    """A hook of `run`. `tell` takes each report: `logger.log`, or `print`."""

    def __init__(
        self,
        every: Every,
        tell: Callable[[Performance], None],
        *,
        clock: Callable[[], float] = time.perf_counter,
        usage: Callable[[], Usage] = usage,
    ) -> None:
        self.every = every
        self._tell = tell
        self._clock = clock
        self._usage = usage
        self._steps, self._trained_s = 0, 0.0
        self._wall_s, self._cpu_s = clock(), usage().cpu_s

    def __call__(self, progress: Progress, runtime: Runtime) -> None:
        now = self._usage()
        steps = progress.done.steps - self._steps
        trained_s = progress.seconds - self._trained_s
        wall_s = self._clock() - self._wall_s
        self._tell(
            Performance(
                steps=progress.done.steps,
                steps_per_s=steps / trained_s if trained_s > 0 else 0.0,
                cpu_percent=100 * (now.cpu_s - self._cpu_s) / wall_s if wall_s > 0 else 0.0,
                rss_bytes=now.rss_bytes,
            )
        )
        self._steps, self._trained_s = progress.done.steps, progress.seconds
        # Read again: neither the telling nor other hooks belong to the next report.
        self._wall_s, self._cpu_s = self._clock(), self._usage().cpu_s
