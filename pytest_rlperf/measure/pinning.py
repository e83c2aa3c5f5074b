"""Which process sits on which core."""

import os
from collections.abc import Sequence
from contextlib import suppress

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


def pin_job(cores: Sequence[int]) -> list[int]:
    """Pin this process and each living child to a core of its own, in order of birth; returns the
    children's ids.

    Both sides of a duet do the same, so process k of either side sits on the same core. A test
    whose children live for one call only keeps all cores and is placed by the kernel.
    """
    born = sorted(psutil.Process().children(recursive=True), key=lambda p: (p.create_time(), p.pid))
    if not born or not cores or not hasattr(os, "sched_setaffinity"):
        return [child.pid for child in born]
    for number, child in enumerate(born, 1):
        with suppress(OSError):  # it ended meanwhile
            os.sched_setaffinity(child.pid, [cores[number % len(cores)]])
    pin(cores[:1])
    return [child.pid for child in born]
