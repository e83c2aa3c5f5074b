"""Counters of a process's memory: what is resident, its high-water mark, shared memory, growth over
repeats, and Python's garbage collections.

The high-water mark never misses a spike, however short, which no sampling could promise. Linux lets
a process set its own back to what is resident now ("5" into clear_refs, proc_pid_clear_refs(5)).
"""

import ctypes
import gc
import os
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import psutil

from pytest_rlperf.errors import MemoryUnreadable

PROC = Path("/proc")
RESET_MARK = "5"
PR_SET_THP_DISABLE = 41
"""An option of prctl(2): whether a huge page is resident depends on the luck of its address."""
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


def reset_mark(pid: int) -> bool:
    """Set the high-water mark of a process back to what is resident; return whether it worked."""
    try:
        (PROC / str(pid) / "clear_refs").write_text(RESET_MARK)
    except OSError:
        return False
    return True


def resident_bytes(pid: int) -> int:
    """Return what is resident of a process; 0: it is gone."""
    return _field(pid, "VmRSS") or _psutil_resident(pid)


def peak_bytes(pid: int) -> int:
    """Return the high-water mark; on a system without one, that of this process since it began, and
    what is resident of any other.
    """
    mark = _field(pid, "VmHWM")
    if mark is not None:
        return mark
    return own_peak_bytes() if pid == os.getpid() else _psutil_resident(pid)


def ended_children_peak() -> int:
    """Return the largest peak of a child that has ended and been waited for. It may be this
    process's own: a child that runs another program begins as a part of its parent.
    """
    import resource

    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * MAXRSS_UNIT


def own_peak_bytes() -> int:
    """Return the peak of this process since it began."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_UNIT


def _field(pid: int, name: str) -> int | None:
    """Return a size from the status file; None: it is not there."""
    with suppress(OSError):
        for line in (PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None


def _psutil_resident(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.NoSuchProcess:
        return 0
    except (psutil.Error, OSError) as error:
        raise MemoryUnreadable(
            f"this system does not say how much memory a process has ({error}); make {PROC} "
            "readable, or leave memory= and rlperf_memory out."
        ) from None


def unique_bytes() -> int:
    """Return what would be free if this process and its descendants ended."""
    own = psutil.Process()
    sizes = []
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.Error, OSError):
            sizes.append(process.memory_full_info().uss)
    return int(sum(sizes))


def no_huge_pages() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)


def tidy() -> None:
    """Give back what is free, so that what is allocated next shows."""
    gc.collect()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # a C library other than glibc
            ctypes.CDLL(None).malloc_trim(0)


# -- shared memory, segment by segment -----------------------------------------------------------

FOLDER = Path("/dev/shm")
KINDS = ("/dev/shm/", "/memfd:", "/SYSV", "/dev/zero")
"""How the kernel names them: POSIX, anonymous files, System V, and mmap without a file."""

Segments = dict[tuple[str, str], int]
"""Size in bytes by device with inode, and name."""


def mapped_segments() -> Segments:
    """Return the segments that this process and its descendants have mapped, each once."""
    segments: Segments = {}
    pids = [child.pid for child in psutil.Process().children(recursive=True)]
    for pid in (os.getpid(), *pids):
        segments |= parse_maps(_maps(pid))
    return segments


def parse_maps(lines: Iterable[str]) -> Segments:
    segments: Segments = {}
    for line in lines:
        span, rights, _, device, inode, *name = line.split(maxsplit=5)
        path = name[0].strip() if name else ""
        if rights[3] != "s" or not path.startswith(KINDS):
            continue
        first, last = (int(end, 16) for end in span.split("-"))
        key = (f"{device} {inode}", path.removesuffix(" (deleted)"))
        segments[key] = segments.get(key, 0) + last - first
    return segments


def outliving(segments: Segments) -> list[str]:
    """Return the names of segments that live on until somebody unlinks them."""
    paths = sorted(Path(name) for _, name in segments)
    return [path.name for path in paths if path.parent == FOLDER and path.exists()]


def _maps(pid: int) -> list[str]:
    try:
        return (PROC / str(pid) / "maps").read_text().splitlines()
    except OSError:  # gone
        return []


# -- growth from one repeat to the next ----------------------------------------------------------

WARM_SHARE = 3
"""One part of so many of the repeats does not count: caches are filled then."""
PARTS = 3


def growth(series: Sequence[float]) -> float | None:
    """Return the median over three parts of the series of their mean growth; None: too few points.

    What grows once, as a cache or a list that is made larger does, shows in one part only. What is
    kept after every fourth call shows in all of them.
    """
    points = series[len(series) // WARM_SHARE :]
    steps = [later - earlier for earlier, later in pairwise(points)]
    if len(steps) < PARTS:
        return None
    ends = [len(steps) * part // PARTS for part in range(PARTS + 1)]
    return statistics.median(statistics.fmean(steps[a:b]) for a, b in pairwise(ends))


# -- garbage collections -------------------------------------------------------------------------


class Collections:
    """Counts how often Python's cyclic garbage collector ran by itself, and for how long.

    It counts within `counted` only: what is collected between the calls is not the test's.
    """

    def __init__(self) -> None:
        self.number = 0
        self.pause_ns = 0
        self._begun_ns = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        gc.callbacks.append(self._note)
        try:
            yield
        finally:
            gc.callbacks.remove(self._note)

    def _note(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._begun_ns = time.perf_counter_ns()
        else:
            self.number += 1
            self.pause_ns += time.perf_counter_ns() - self._begun_ns
