"""The clock of a slice: wall time, CPU time, and time spent waiting for a core."""

import os
import time
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from pytest_rlperf.measure.witnesses import times_blocked

SCHEDSTAT = "/proc/thread-self/schedstat"


class Elapsed(NamedTuple):
    """What one slice took."""

    wall_ns: int
    cpu_ns: int
    delay_ns: int  # runnable, but another process had the core, or another machine

    @property
    def own_ns(self) -> int:
        """Wall time as it would have been with the core to oneself.

        Unlike CPU time it keeps what the code spends blocked in sleep, I/O or locks.
        """
        return max(1, self.wall_ns - self.delay_ns)


def own_time(elapsed: Elapsed) -> int:
    return elapsed.own_ns


def wall_time(elapsed: Elapsed) -> int:
    return elapsed.wall_ns


def summed(parts: Iterable[Elapsed]) -> Elapsed:
    """Of at least one part."""
    return Elapsed(*map(sum, zip(*parts, strict=True)))


class Clock(Protocol):
    """A stop watch. Tests hand in a fake one through the `pytest_rlperf_clock` hook."""

    def start(self) -> None: ...

    def stop(self) -> Elapsed: ...


class SystemClock:
    """Reads the kernel's run-queue delay where there is one (Linux), outside the timed part.

    Time that the hypervisor gave to another machine is in no queue. Where the code never blocked,
    all of its wall time off the core was waiting for it: then CPU time, which knows of that, tells
    the delay. Under load the hypervisor hit one slice in twenty, for up to twice its own length.
    """

    def __init__(self) -> None:
        try:
            self._fd: int | None = os.open(SCHEDSTAT, os.O_RDONLY)
            self._run_delay_ns()
        except (OSError, ValueError, IndexError):
            self._fd = None
        self._wall = self._cpu = self._delay = self._on_core = self._blocked = 0
        self.cpu_bound = False  # known to compute all the time; asked only without run delay
        self.hosted = False  # other threads compute, whose run delay this one does not know

    @property
    def sees_delay(self) -> bool:
        return self._fd is not None

    def _run_delay_ns(self) -> int:
        assert self._fd is not None
        return int(os.pread(self._fd, 64, 0).split()[1])

    def _wall_and_delay(self) -> tuple[int, int]:
        """Both at one moment: every system call may end in a wait for the core, and a wait
        between two readings would be counted on one side only.
        """
        if self._fd is None:
            return time.perf_counter_ns(), 0
        delay = self._run_delay_ns()
        while True:
            wall, before, delay = time.perf_counter_ns(), delay, self._run_delay_ns()
            if delay == before:
                return wall, delay

    def start(self) -> None:
        self._blocked = times_blocked()
        self._cpu = time.process_time_ns()
        self._wall, self._delay = self._wall_and_delay()
        self._on_core = time.thread_time_ns()

    def stop(self) -> Elapsed:
        on_core = time.thread_time_ns() - self._on_core
        wall, delay = self._wall_and_delay()
        cpu = time.process_time_ns() - self._cpu
        wall -= self._wall
        if self._fd is not None and not self.hosted:
            blocked = times_blocked() > self._blocked
            return Elapsed(wall, cpu, delay - self._delay if blocked else wall - on_core)
        # Elsewhere CPU time stands in, where the code is bound by it: what is left of the
        # wall time is then waiting for a core.
        computes = self.cpu_bound or cpu > 0.5 * wall
        return Elapsed(wall, cpu, max(0, wall - cpu) if computes else 0)
