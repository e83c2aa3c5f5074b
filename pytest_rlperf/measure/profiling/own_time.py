"""A clock for profilers: wall time less the time spent waiting for a core, cheap to read.

A profiler reads the time at every call and return. Asking the kernel each time how long this
thread had to wait would take longer than most functions. So it is asked only where there may have
been a wait: where more time has passed since the last reading than most functions take.
"""

import os
import time
from collections.abc import Callable

from pytest_rlperf.measure.clock import SCHEDSTAT

GAP_NS = 50_000
"""Waits for the core last a millisecond and more."""


def own_time_reader() -> Callable[[], int]:
    """A function that tells the own time of this thread. A closure: it is called all the time."""
    run_delay_ns = _run_delay_reader()
    if run_delay_ns is None:
        return time.perf_counter_ns
    wall_ns = time.perf_counter_ns
    last, waited = wall_ns(), run_delay_ns()

    def read_ns() -> int:
        nonlocal last, waited
        now = wall_ns()
        if now - last > GAP_NS:
            waited = run_delay_ns()
            now = wall_ns()
        last = now
        return now - waited

    return read_ns


def _run_delay_reader() -> Callable[[], int] | None:
    """Of the time that the calling thread was runnable and did not run; None: it is not told."""
    try:
        file = os.open(SCHEDSTAT, os.O_RDONLY)
        os.pread(file, 64, 0).split()[1]
    except (OSError, IndexError):
        return None
    return lambda: int(os.pread(file, 64, 0).split()[1])
