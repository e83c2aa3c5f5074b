"""This process and the machine below it: counters of what the machine did meanwhile, the cores that
processes are pinned to, and the addresses that programs are loaded at.
"""

import functools
import itertools
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

# -- counters -----------------------------------------------------------------------------------

PROC_STAT = Path("/proc/stat")
PROC_TASKS = Path("/proc/self/task")
SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
STEAL_HURTS = 0.02
"""The share of stolen time from which on it is told."""


def involuntary_switches() -> int:
    """Count how often this process lost its core so far; 0 where the platform does not say."""
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def times_blocked() -> int:
    """Count how often this thread gave up its core to wait; 0 where the platform does not say."""
    if sys.platform != "linux":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def threads_delay_ns() -> int:
    """Sum how long all threads of this process waited for a core; 0: the platform is silent."""
    delay_ns = 0
    for path in PROC_TASKS.glob("*/schedstat"):
        with suppress(OSError, ValueError, IndexError):  # it may have ended meanwhile
            delay_ns += int(path.read_text().split()[1])
    return delay_ns


def ended_children_cpu() -> float:
    """Return the CPU seconds of all children that have ended and been waited for."""
    if sys.platform == "win32":
        return 0.0
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def core_ticks(core: int | None) -> tuple[int, int]:
    """Return (stolen, all) ticks of a core since boot; zeros where the platform does not say."""
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
    """Return the share of the time between two `core_ticks` that the hypervisor took away."""
    stolen, total = after[0] - before[0], after[1] - before[1]
    return stolen / total if total > 0 else 0.0


# -- cores --------------------------------------------------------------------------------------

IDLE_SHARE = 0.05
"""A child that computes for less than this share of the busiest one is a helper, such as
multiprocessing's resource tracker."""


def available_cores() -> tuple[int, ...]:
    """List the cores this process may use; empty where the platform cannot pin."""
    if not hasattr(os, "sched_getaffinity"):
        return ()
    return tuple(sorted(os.sched_getaffinity(0)))


def physical_cores(cores: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the threads of each physical core among `cores`: those of one core take each other's
    time. Where the platform does not say, each is a core of its own.
    """
    siblings: dict[str, list[int]] = {}
    for core in cores:
        name = f"cpu {core}"
        with suppress(OSError):
            name = Path(SIBLINGS.format(core)).read_text()
        siblings.setdefault(name, []).append(core)
    return [tuple(threads) for threads in siblings.values()]


def one_of_each_first(cores: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return all threads of physical cores, so that as many in a row as there are cores have one
    each.
    """
    ranks = itertools.zip_longest(*cores)
    return tuple(thread for rank in ranks for thread in rank if thread is not None)


def pin(cores: Sequence[int]) -> None:
    """Keep this process, all its threads and the children it will start on `cores`."""
    if not cores or not hasattr(os, "sched_setaffinity"):
        return
    try:
        threads = [int(name) for name in os.listdir(PROC_TASKS)]
    except OSError:
        threads = [0]  # the calling one
    for thread in threads:
        with suppress(OSError):  # it ended meanwhile
            os.sched_setaffinity(thread, cores)


def core_of_rank(cores: Sequence[int], rank: int) -> Sequence[int]:
    """Choose the core of a rank, the same on either side; empty where there is no pinning."""
    return [cores[rank % len(cores)]] if cores else ()


def pin_job(cores: Sequence[int], call: Callable[[], object]) -> list[int]:
    """Pin this process and each child that works during `call` to a core of its own, in order of
    birth; returns the children's ids.

    Both sides of a duet do the same, so process k of either side sits on the same core. A test
    whose children live for one call only keeps all cores and is placed by the kernel.
    """
    import psutil  # here: a report is written by a Python that has no packages, too

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
    """Return the CPU time of a process's first thread; 0: it has ended, or the system is silent."""
    return schedstat(pid)[0]


def schedstat(pid: int) -> tuple[int, int]:
    """Return the time on a core and the time waiting for one (ns) of a process's first thread."""
    with suppress(OSError, ValueError), open(f"/proc/{pid}/schedstat", "rb") as file:
        on_core, waiting, _ = file.read().split()
        return int(on_core), int(waiting)
    return 0, 0


# -- addresses ----------------------------------------------------------------------------------
#
# Without address space randomisation both sides of a block have the interpreter and its libraries
# at the same addresses, as two copies of one program. At random ones each process is faster or
# slower for its whole life, by what collides in the branch predictor and the instruction cache.
# Where data lies is still drawn for each process, by `worker/boot.py`.

ADDR_NO_RANDOMIZE = 0x0040000
ASK = 0xFFFFFFFF
"""Changes nothing, and returns what is set."""


@contextmanager
def fixed_addresses() -> Iterator[None]:
    """Start children without address randomisation. A child inherits it from the thread that makes
    it, and it counts when a program is loaded; this process stays as it is. Where the system
    refuses, addresses stay random.
    """
    personality = _personality()
    before = personality(ASK)
    if before < 0 or personality(before | ADDR_NO_RANDOMIZE) < 0:
        yield
        return
    try:
        yield
    finally:
        personality(before)


@functools.cache
def can_fix_addresses() -> bool:
    """Try whether addresses can be fixed: even on Linux, containers may forbid it."""
    with fixed_addresses():
        persona = _personality()(ASK)
    return persona >= 0 and bool(persona & ADDR_NO_RANDOMIZE)


@functools.cache
def _personality() -> Callable[[int], int]:
    """Return Linux's system call; elsewhere one that always fails."""
    if platform.system() != "Linux":
        return lambda _: -1
    import ctypes

    libc = ctypes.CDLL(None)
    libc.personality.argtypes = [ctypes.c_ulong]
    return libc.personality
