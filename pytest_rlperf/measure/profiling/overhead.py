"""What the profiler itself costs an event, to be taken off again.

Without it a cheap function that is called more often would be blamed for the profiler's time.
"""

import cProfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from typing import Any

NS = 1e-9
"""What a reading of the clock is, in seconds."""
CALLS = 2_000
ROUNDS = 7


@dataclass(frozen=True, slots=True)
class Overhead:
    """Nanoseconds a call: what is counted as the called function's time, and as the caller's."""

    inside_ns: float = 0.0
    outside_ns: float = 0.0
    native_inside_ns: float = 0.0
    native_outside_ns: float = 0.0


def event_overhead(read_ns: Callable[[], int]) -> Overhead:
    """The least of a few rounds, since noise only adds. On a fake clock events cost nothing."""
    inside_ns, outside_ns = _costs(read_ns, _nothing)
    native_inside_ns, native_outside_ns = _costs(read_ns, ().count, None)
    return Overhead(inside_ns, outside_ns, native_inside_ns, native_outside_ns)


def _nothing() -> None: ...


def _calling(function: Callable[..., Any], *args: Any) -> None:
    for _ in repeat(None, CALLS):
        function(*args)


def _costs(
    read_ns: Callable[[], int], function: Callable[..., Any], *args: Any
) -> tuple[float, float]:
    """Inside and outside of a call of a function that does nothing."""
    bare_ns = min(_bare_ns(read_ns, function, *args) for _ in range(ROUNDS))
    profiled = [_profiled_ns(read_ns, function, *args) for _ in range(ROUNDS)]
    inside_ns, outside_ns = map(min, zip(*profiled, strict=True))
    return inside_ns, max(0.0, outside_ns - bare_ns)


def _bare_ns(read_ns: Callable[[], int], function: Callable[..., Any], *args: Any) -> float:
    begun = read_ns()
    _calling(function, *args)
    return (read_ns() - begun) / CALLS


def _profiled_ns(
    read_ns: Callable[[], int], function: Callable[..., Any], *args: Any
) -> tuple[float, float]:
    """A call's time as the profiler sees it: the function's own, and its caller's."""
    profile = cProfile.Profile(read_ns, NS)
    profile.enable()
    _calling(function, *args)
    profile.disable()
    inside_s = outside_s = 0.0
    for stat in profile.getstats():
        if stat.code is _calling.__code__:
            outside_s = stat.inlinetime
        elif stat.callcount == CALLS:
            inside_s = stat.inlinetime
    return inside_s / NS / CALLS, outside_s / NS / CALLS
