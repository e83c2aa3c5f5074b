"""A clock that has every slice watched by profilers, and the clock that those profilers read.

The clock is what all kinds of calls, those that count themselves and those of ranks included, start
and stop around the measured function and nothing else. So a profiler that is switched with it sees
that function and nothing else.

Profilers read wall time less the time spent waiting for a core. A profiler reads the time at every
call and return. Asking the kernel each time how long this thread had to wait would take longer than
most functions. So it is asked only where there may have been a wait: where more time has passed
since the last reading than most functions take.
"""

import os
import time
from collections.abc import Callable
from functools import reduce
from typing import Protocol, runtime_checkable

from pytest_rlperf.model.plan import Plan
from pytest_rlperf.model.profile import Profiling, SlicesProfile
from pytest_rlperf.profile.functions import FunctionWatch
from pytest_rlperf.profile.watches import LineWatch, StackWatch, operator_watches
from pytest_rlperf.worker.clock import SCHEDSTAT, Clock, Elapsed

GAP_NS = 50_000
"""Waits for the core last a millisecond and more."""


def own_time_reader() -> Callable[[], int]:
    """Return a function that tells the own time of this thread: a closure, since it is called all
    the time.
    """
    run_delay_ns = _run_delay_reader()
    if run_delay_ns is None:
        return time.perf_counter_ns
    wall_ns = time.perf_counter_ns
    last, waited = wall_ns(), run_delay_ns()
    told = last - waited

    def read_ns() -> int:
        nonlocal last, waited, told
        now = wall_ns()
        if now - last > GAP_NS:
            waited = run_delay_ns()
            now = wall_ns()
        last = now
        # Waits too short to be asked for come to light at the next question: time stands still
        # then, and never goes back.
        told = max(told, now - waited)
        return told

    return read_ns


def _run_delay_reader() -> Callable[[], int] | None:
    """Return a function that tells how long the calling thread was runnable and did not run; None:
    the system does not tell.
    """
    try:
        file = os.open(SCHEDSTAT, os.O_RDONLY)
        os.pread(file, 64, 0).split()[1]
    except (OSError, IndexError):
        return None
    return lambda: int(os.pread(file, 64, 0).split()[1])


SAMPLED = 3
"""Every third slice has its stacks sampled or, in turn with that, the operators of torch counted;
the others have their functions counted."""


@runtime_checkable
class Readable(Protocol):
    """A clock that tells the time, such as a fake one: profiles are in its time."""

    def read_ns(self) -> int: ...


def reader_of(clock: Clock) -> Callable[[], int]:
    return clock.read_ns if isinstance(clock, Readable) else own_time_reader()


class Watch(Protocol):
    """Something that watches slices."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def note(self, elapsed: Elapsed) -> None:
        """Take note of what the clock said of the slice that was just watched."""

    def add_to(self, profile: SlicesProfile, calls: int) -> SlicesProfile:
        """Return the profile with what was seen; a slice is of so many calls."""
        ...


class ProfilingClock:
    """Times as its inner clock does, the watches' own cost included."""

    def __init__(self, clock: Clock, plan: Plan, read_ns: Callable[[], int]) -> None:
        """Watch the slices of a plan; `read_ns` tells the time of what happens inside of them."""
        self._clock = clock
        self._calls = plan.calls
        self._watches = _watches(plan, read_ns)
        self._slice = -1

    @property
    def _watch(self) -> Watch:
        first, *others = self._watches
        if not others or self._slice % SAMPLED != SAMPLED - 1:
            return first
        return others[self._slice // SAMPLED % len(others)]

    def start(self) -> None:
        self._slice += 1
        self._clock.start()
        self._watch.start()

    def stop(self) -> Elapsed:
        self._watch.stop()
        elapsed = self._clock.stop()
        self._watch.note(elapsed)
        return elapsed

    def profile(self) -> SlicesProfile:
        """Return what all watches saw of the slices so far."""
        return reduce(
            lambda profile, watch: watch.add_to(profile, self._calls),
            self._watches,
            SlicesProfile(),
        )


def _watches(plan: Plan, read_ns: Callable[[], int]) -> tuple[Watch, ...]:
    if plan.profile is Profiling.LINES:
        return (LineWatch(plan.lines_of, read_ns),)
    return (FunctionWatch(read_ns), StackWatch(read_ns), *operator_watches())
