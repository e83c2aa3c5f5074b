"""Which process sits on which core."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress

import psutil

IDLE_SHARE = 0.05
"""A child that computes for less than this share of the busiest one is a helper, such as
multiprocessing's resource tracker."""


def available_cores() -> tuple[int, ...]:
    """Cores this process may use; empty where the platform cannot pin."""
    if not hasattr(os, "sched_getaffinity"):
        return ()
    return tuple(sorted(os.sched_getaffinity(0)))


def pin(cores: Sequence[int]) -> None:
    """Keep this process, all its threads and the children it will start on `cores`."""
    if not cores or not hasattr(os, "sched_setaffinity"):
        return
    for thread in _threads():
        with suppress(OSError):  # it ended meanwhile
            os.sched_setaffinity(thread, cores)


def core_of_rank(cores: Sequence[int], rank: int) -> Sequence[int]:
    """The same on either side; empty where there is no pinning."""
    return [cores[rank % len(cores)]] if cores else ()


def _threads() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc/self/task")]
    except OSError:
        return [0]  # the calling one


def pin_job(cores: Sequence[int], call: Callable[[], object]) -> list[int]:
    """Pin this process and each child that works during `call` to a core of its own, in order of
    birth; returns the children's ids.

    Both sides of a duet do the same, so process k of either side sits on the same core. A test
    whose children live for one call only keeps all cores and is placed by the kernel.
    """
    children = sorted(
        psutil.Process().children(recursive=True),
        key=lambda child: (child.create_time(), child.pid),
    )
    before = [on_core_ns(child.pid) for child in children]
    call()
    used = [on_core_ns(child.pid) - ns for child, ns in zip(children, before, strict=True)]
    least = IDLE_SHARE * max(used, default=0)
    busy = [child.pid for child, ns in zip(children, used, strict=True) if ns > least]
    if busy and cores and hasattr(os, "sched_setaffinity"):
        for number, pid in enumerate(busy, 1):
            with suppress(OSError):
                os.sched_setaffinity(pid, [cores[number % len(cores)]])
        pin(cores[:1])
    return busy


def on_core_ns(pid: int) -> int:
    """CPU time of a process's first thread; 0 where it has ended or the system does not say."""
    return schedstat(pid)[0]


def schedstat(pid: int) -> tuple[int, int]:
    """Time on a core and time waiting for one (ns) of a process's first thread."""
    with suppress(OSError, ValueError), open(f"/proc/{pid}/schedstat", "rb") as file:
        on_core, waiting, _ = file.read().split()
        return int(on_core), int(waiting)
    return 0, 0
