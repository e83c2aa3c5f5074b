"""A slowdown of known size: every slice goes on for a share of what it took."""

import time
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from pytest_rlperf.worker.clock import Clock, Elapsed, own_time, summed

Judged = Callable[[Elapsed], int]
"""Returns the time of a slice that a verdict rests on."""

LEAST_COMPUTED_NS = 1_000
"""Of a shorter time, reading the clock would be most."""
LEAST_SLEPT_NS = 50_000
"""The kernel may be this late in waking a thread."""

NOTHING = Elapsed(0, 0, 0)


@runtime_checkable
class Spender(Protocol):
    """Lets time pass. A clock that is one too, such as a fake one, spends its own time."""

    def compute(self, ns: int) -> None: ...

    def sleep(self, ns: int) -> None: ...


class RealTime:
    """Spends the time of this thread."""

    def compute(self, ns: int) -> None:
        until = time.thread_time_ns() + ns
        while time.thread_time_ns() < until:
            pass

    def sleep(self, ns: int) -> None:
        time.sleep(ns / 1e9)


class SlowedClock:
    """Times a slice, then computes for a share of the time that it computed and sleeps for the
    same share of the time that it waited, both timed by the same clock: what is added is of the
    kind, and on the clock, that the slice itself is judged by.
    """

    def __init__(
        self,
        clock: Clock,
        share: float,
        spender: Spender,
        *,
        judged: Judged = own_time,
        apart_ns: float = 0.0,
    ) -> None:
        """Slow `clock` by a share of the time that `judged` says; `apart_ns` of every slice are not
        the measured function's, and not made longer.
        """
        self._clock = clock
        self._share = share
        self._judged = judged
        self._apart_ns = apart_ns
        self._computing = _Debt(spender.compute, LEAST_COMPUTED_NS, judged)
        self._waiting = _Debt(spender.sleep, LEAST_SLEPT_NS, judged)

    def start(self) -> None:
        self._clock.start()

    def stop(self) -> Elapsed:
        elapsed = self._clock.stop()
        judged_ns = self._judged(elapsed)
        computed_ns = min(elapsed.cpu_ns, judged_ns)
        waited_ns = judged_ns - computed_ns
        slowed_ns = max(0.0, computed_ns - self._apart_ns)
        computing = self._computing.pay(self._share * slowed_ns, self._clock)
        waiting = self._waiting.pay(self._share * waited_ns, self._clock)
        return summed((elapsed, computing, waiting))


class _Debt:
    """Time of one kind that is still to be spent. It never ends on the nanosecond: the next slice
    makes good what the last one spent too much or too little.
    """

    def __init__(self, spend: Callable[[int], None], least_ns: int, judged: Judged) -> None:
        self._spend = spend
        self._least_ns = least_ns
        self._judged = judged
        self._owed_ns = 0.0

    def pay(self, due_ns: float, clock: Clock) -> Elapsed:
        """Spend what is owed, with `due_ns` more; return what that took."""
        self._owed_ns += due_ns
        if self._owed_ns < self._least_ns:
            return NOTHING
        clock.start()
        self._spend(round(self._owed_ns))
        paid = clock.stop()
        # Not what the machine did to it, nor what the clock does not see: the slices that follow
        # would be left without a slowdown, or get one that grows.
        most_ns = self._least_ns + due_ns
        self._owed_ns = max(-most_ns, min(self._least_ns, self._owed_ns - self._judged(paid)))
        return paid
