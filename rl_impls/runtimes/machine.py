"""The cores and threads that processes are given, and the memory and CPU time they took."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import psutil

from rl_impls.errors import SettingError

MOST_BY_DEFAULT: Final = 4


def usable_cores() -> tuple[int, ...]:
    """Return the cores this process may run on; none where the system does not say."""
    if not hasattr(os, "sched_getaffinity"):
        return ()
    return tuple(sorted(os.sched_getaffinity(0)))


def default_processes() -> int:
    """Return one process for each physical core that may be used, and four at most."""
    physical = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    return min(physical, len(usable_cores()) or physical, MOST_BY_DEFAULT)


def cores_for(n_processes: int) -> tuple[int, ...]:
    """Return a core for each process, in turn where there are fewer."""
    cores = usable_cores()
    if not cores:
        raise SettingError("this system cannot pin processes to cores: train without pinning.")
    return tuple(cores[number % len(cores)] for number in range(n_processes))


def pin_to(*cores: int) -> None:
    """Keep this process on these cores; without any it may stay where it likes."""
    if cores:
        os.sched_setaffinity(0, cores)


def cap_threads(n: int) -> Any:
    """Let BLAS and OpenMP use `n` threads in this process, for as long as the result is kept.

    Several processes that each use all cores get in each other's way.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    return threadpool_limits(limits=n)


def peak_rss_bytes() -> int:
    """Return the most memory this process has had in use.

    Not from getrusage where there is another way: it counts what a process had before it became
    this program, which for a started child is its parent's memory.
    """
    try:
        match = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        match = None
    if match:
        return int(match[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class Usage(NamedTuple):
    """CPU time and memory of this process and those it started that are still there."""

    cpu_s: float
    rss_bytes: int


def usage() -> Usage:
    own = psutil.Process()
    cpu_s, rss_bytes = 0.0, 0
    for process in (own, *own.children(recursive=True)):
        try:
            with process.oneshot():
                times = process.cpu_times()
                rss = process.memory_info().rss
        except psutil.Error:  # it ended meanwhile
            continue
        cpu_s += times.user + times.system
        rss_bytes += rss
    return Usage(cpu_s, rss_bytes)
