"""A clock that has every slice watched by profilers, and the clock that those profilers read.

The clock is what all kinds of calls, those that count themselves and those of ranks included, start
and stop around the measured function and nothing else. So a profiler that is switched with it sees
that function and nothing else.

Profilers read wall time less the time spent waiting for a core. A profiler reads the time at every
call and return. Asking the kernel each time how long this thread had to wait would take longer than
most functions. So it is asked only where there may have been a wait: where more time has passed
since the last reading than most functions take.
"""

import inspect
import os
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from types import CodeType, FrameType
from typing import Any, Protocol, runtime_checkable

from pytest_rlperf.model.plan import Plan
from pytest_rlperf.model.profile import (
    LineCost,
    LineProfile,
    OperatorCost,
    Profiling,
    SlicesProfile,
)
from pytest_rlperf.profile.functions import FunctionWatch, is_own
from pytest_rlperf.worker.clock import SCHEDSTAT, Clock, Elapsed

GAP_NS = 50_000
"""Waits for the core last a millisecond and more."""


def own_time_reader() -> Callable[[], int]:
    """Return what tells the own time of this thread: a closure, since it is called all the time."""
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


# -- watches of slices beside that of functions: stacks, the lines of one function, operators ----

INTERVAL_S = 0.001
DEEPEST = 200


class StackWatch:
    """Samples stacks, for the flame graph; one counts for the time since the sample before it.

    A timer interrupts the slice; the interpreter looks at it when it gets from one instruction to
    the next, so a native function shows as the Python function that called it.
    """

    def __init__(self, read_ns: Callable[[], int]) -> None:
        self._read_ns = read_ns
        # Only the main thread gets signals; elsewhere there is no picture.
        self._possible = threading.current_thread() is threading.main_thread()
        self._found: Counter[tuple[tuple[str, str], ...]] = Counter()
        self._slices = 0
        self._last_ns = 0
        self._before: Any = None

    def start(self) -> None:
        if self._possible:
            self._before = (
                signal.signal(signal.SIGALRM, self._sample),
                signal.getitimer(signal.ITIMER_REAL),
            )
            self._last_ns = self._read_ns()
            signal.setitimer(signal.ITIMER_REAL, INTERVAL_S, INTERVAL_S)

    def stop(self) -> None:
        if self._possible:
            handler, timer = self._before
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
            signal.setitimer(signal.ITIMER_REAL, *timer)

    def note(self, elapsed: Elapsed) -> None:
        self._slices += 1

    def _sample(self, _signal: int, frame: FrameType | None) -> None:
        now = self._read_ns()
        if stack := _stack(frame):
            self._found[stack] += now - self._last_ns
        self._last_ns = now

    def add_to(self, profile: SlicesProfile, calls: int) -> SlicesProfile:
        number = max(1, self._slices * calls)
        stacks = tuple((stack, ns / number) for stack, ns in self._found.items())
        return replace(profile, stacks=stacks)


def _stack(frame: FrameType | None) -> tuple[tuple[str, str], ...]:
    """Return the frames from the measured function down; none where the sample hit this package."""
    names: list[tuple[str, str]] = []
    while frame is not None and len(names) < DEEPEST:
        file = frame.f_code.co_filename
        if is_own(file):
            break
        names.append((file, frame.f_code.co_qualname))
        frame = frame.f_back
    return tuple(reversed(names))


class LineWatch:
    """Times the lines of one function, the functions it calls included, and traces no other frame.

    Every line of it costs an event, about as much as a short line itself: shares are to be compared
    between the sides, not with other functions.
    """

    def __init__(self, wanted: str, read_ns: Callable[[], int]) -> None:
        self._file, _, self._name = wanted.rpartition(":")
        self._read_ns = read_ns
        self._code: CodeType | None = None
        self._cost: dict[int, list[float]] = {}  # by line: hits, ns
        self._line: dict[FrameType, tuple[int, int]] = {}  # running now, since
        self._slices = 0

    def start(self) -> None:
        sys.settrace(self._called)

    def stop(self) -> None:
        sys.settrace(None)
        self._line.clear()

    def note(self, elapsed: Elapsed) -> None:
        self._slices += 1

    def add_to(self, profile: SlicesProfile, calls: int) -> SlicesProfile:
        if self._code is None:
            return profile
        return replace(profile, lines=self._lines(self._code, max(1, calls * self._slices)))

    def _lines(self, code: CodeType, number: int) -> LineProfile:
        try:
            source, first = inspect.getsourcelines(code)
        except OSError:
            source, first = [], code.co_firstlineno
        costs = {n: LineCost(hits / number, ns / number) for n, (hits, ns) in self._cost.items()}
        return LineProfile(first, tuple(line.rstrip() for line in source), costs)

    def _called(self, frame: FrameType, event: str, _arg: object) -> Any:
        code = frame.f_code
        if code is not self._code and not (self._code is None and self._is_wanted(code)):
            return None
        self._code = code
        return self._traced

    def _is_wanted(self, code: CodeType) -> bool:
        name = code.co_qualname
        return (name == self._name or name.endswith(f".{self._name}")) and (
            not self._file or code.co_filename.endswith(self._file)
        )

    def _traced(self, frame: FrameType, event: str, _arg: object) -> Any:
        now = self._read_ns()
        if (before := self._line.pop(frame, None)) is not None:
            line, since = before
            cost = self._cost.setdefault(line, [0.0, 0.0])
            cost[0] += 1
            cost[1] += now - since
        if event == "line":
            self._line[frame] = (frame.f_lineno, self._read_ns())
        return self._traced


US = 1_000
"""What its times are in, in ns."""


class OperatorWatch:
    """Counts operators of torch by its own profiler: below Python, and on every device. Only tests
    that have imported torch are watched; it is not done here.
    """

    def __init__(self, profiler: Any) -> None:
        """`profiler` is the module `torch.profiler`."""
        self._profiler = profiler
        self._profile: Any = None
        self._calls: dict[str, int] = defaultdict(int)
        self._ns: dict[str, float] = defaultdict(float)
        self._slices = 0

    def start(self) -> None:
        self._profile = self._profiler.profile()
        self._profile.start()

    def stop(self) -> None:
        self._profile.stop()

    def note(self, elapsed: Elapsed) -> None:
        self._slices += 1
        for event in self._profile.key_averages():
            if not event.key.startswith("["):  # such as [memory], which is no operator
                # Since torch 2.4; before, a device was always CUDA.
                on_device = getattr(event, "self_device_time_total", 0.0)
                self._calls[event.key] += event.count
                self._ns[event.key] += (event.self_cpu_time_total + on_device) * US

    def add_to(self, profile: SlicesProfile, calls: int) -> SlicesProfile:
        number = max(1, self._slices * calls)
        operators = {
            name: OperatorCost(count / number, self._ns[name] / number)
            for name, count in self._calls.items()
        }
        return replace(profile, operators=operators)


def operator_watches() -> tuple[OperatorWatch, ...]:
    """Return a watch where the test has imported torch, else none."""
    profiler = getattr(sys.modules.get("torch"), "profiler", None)
    return (OperatorWatch(profiler),) if hasattr(profiler, "profile") else ()
