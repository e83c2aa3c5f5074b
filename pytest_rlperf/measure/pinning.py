"""Which process sits on which core."""

import os
from collections.abc import Sequence

import psutil


def available_cores() -> tuple[int, ...]:
    """Cores this process may use; empty where the platform cannot pin."""
    if not hasattr(os, "sched_getaffinity"):
        return ()
    return tuple(sorted(os.sched_getaffinity(0)))


def pin(cores: Sequence[int]) -> None:
    """Keep this process, and the children it will start, on `cores`; none: leave it alone."""
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def pin_job(cores: Sequence[int]) -> None:
    """Pin this process and each living child to a core of its own, in order of birth.

    Both sides of a duet do the same, so process k of either side sits on the same core. A test
    whose children live for one call only keeps all cores and is placed by the kernel.
    """
    children = psutil.Process().children(recursive=True)
    if not children or not cores or not hasattr(psutil.Process, "cpu_affinity"):
        return
    for number, process in enumerate(sorted(children, key=lambda p: (p.create_time(), p.pid)), 1):
        try:
            process.cpu_affinity([cores[number % len(cores)]])
        except psutil.Error:
            continue  # it ended meanwhile
    pin(cores[:1])
