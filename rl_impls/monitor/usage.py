"""Memory and CPU time of processes."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

import psutil


def peak_rss_bytes() -> int:
    """The most memory this process has had in use.

    Not from getrusage where there is another way: it counts what a process had before it became
    this program, which for a started child is its parent's memory.
    """
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        found = None
    if found:
        return int(found[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class Usage(NamedTuple):
    """Of this process and those it started that are still there."""

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
