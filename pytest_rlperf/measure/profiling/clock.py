"""A clock that has every slice watched.

The clock is what all kinds of calls, those that count themselves and those of ranks included, start
and stop around the measured function and nothing else. So a profiler that is switched with it sees
that function and nothing else.
"""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from pytest_rlperf.measure.clock import Clock, Elapsed
from pytest_rlperf.measure.profiling.functions import FunctionWatch
from pytest_rlperf.measure.profiling.lines import LineWatch
from pytest_rlperf.measure.profiling.operators import operator_watches
from pytest_rlperf.measure.profiling.own_time import own_time_reader
from pytest_rlperf.measure.profiling.stacks import StackWatch
from pytest_rlperf.model.plan import Plan
from pytest_rlperf.model.profile import Profiling

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
        """What the clock said of the slice that was just watched."""

    def facts(self, calls: int) -> dict[str, Any]:
        """What was seen; a slice is of so many calls."""
        ...


class ProfilingClock:
    """Times as its inner clock does, the watches' own cost included."""

    def __init__(self, clock: Clock, plan: Plan, read_ns: Callable[[], int]) -> None:
        """`read_ns` tells the time of what happens inside of a slice."""
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

    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for watch in self._watches:
            found |= watch.facts(self._calls)
        return found


def _watches(plan: Plan, read_ns: Callable[[], int]) -> tuple[Watch, ...]:
    if plan.profile is Profiling.LINES:
        return (LineWatch(plan.lines_of, read_ns),)
    return (FunctionWatch(read_ns), StackWatch(read_ns), *operator_watches())
