"""Facts beside a measurement that tell what the machine did meanwhile."""

import sys
from contextlib import suppress
from pathlib import Path

PROC_STAT = Path("/proc/stat")
PROC_TASKS = Path("/proc/self/task")


def involuntary_switches() -> int:
    """How often this process lost its core so far; 0 where the platform does not say."""
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def times_blocked() -> int:
    """How often this thread gave up its core to wait for something; 0 where the platform does not
    say.
    """
    if sys.platform != "linux":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def threads_delay_ns() -> int:
    """How long all threads of this process waited for a core so far; 0 where the platform does not
    say.
    """
    found = 0
    for path in PROC_TASKS.glob("*/schedstat"):
        with suppress(OSError, ValueError, IndexError):  # it may have ended meanwhile
            found += int(path.read_text().split()[1])
    return found


def ended_children_cpu() -> float:
    """CPU seconds of all children that have ended and been waited for."""
    if sys.platform == "win32":
        return 0.0
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def core_ticks(core: int | None) -> tuple[int, int]:
    """(stolen, all) ticks of a core since boot; zeros where the platform does not say."""
    try:
        text = PROC_STAT.read_text()
    except OSError:
        return 0, 0
    name = "cpu" if core is None else f"cpu{core}"
    for line in text.splitlines():
        label, *numbers = line.split()
        if label == name:
            ticks = [int(number) for number in numbers]
            return ticks[7] if len(ticks) > 7 else 0, sum(ticks[:8])
    return 0, 0


def steal_share(before: tuple[int, int], after: tuple[int, int]) -> float:
    """Share of the time between two `core_ticks` that the hypervisor took away."""
    stolen, total = after[0] - before[0], after[1] - before[1]
    return stolen / total if total > 0 else 0.0
