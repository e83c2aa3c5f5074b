"""What the kernel counts of a process's memory: resident now, and its high-water mark.

The mark never misses a spike, however short, which no sampling could promise. Linux lets a process
set its own back to what is resident now ("5" into clear_refs, proc_pid_clear_refs(5)).
"""

import ctypes
import gc
import os
import sys
from contextlib import suppress
from pathlib import Path

import psutil

from pytest_rlperf.errors import MemoryUnreadable

PROC = Path("/proc")
RESET_MARK = "5"
PR_SET_THP_DISABLE = 41
"""Of prctl(2): whether a huge page is resident depends on the luck of its address."""
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


def reset_mark(pid: int) -> bool:
    """Whether the high-water mark of the process could be set back to what is resident."""
    try:
        (PROC / str(pid) / "clear_refs").write_text(RESET_MARK)
    except OSError:
        return False
    return True


def resident_bytes(pid: int) -> int:
    """0: the process is gone."""
    return _field(pid, "VmRSS") or _psutil_resident(pid)


def peak_bytes(pid: int) -> int:
    """The high-water mark; of a system without one, of this process only, since it began."""
    mark = _field(pid, "VmHWM")
    if mark is not None:
        return mark
    return own_peak_bytes() if pid == os.getpid() else _psutil_resident(pid)


def ended_children_peak() -> int:
    """The largest peak of a child that has ended and been waited for. It may be this process's
    own: a child that runs another program begins as a part of its parent.
    """
    import resource

    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * MAXRSS_UNIT


def own_peak_bytes() -> int:
    """Since this process began."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_UNIT


def _field(pid: int, name: str) -> int | None:
    """A size from the status file; None: it is not there."""
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
    """Of this process and its descendants: what would be free if they ended."""
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
