"""Clocks of a slice: wall time, CPU time, and time spent waiting for a core.

`SystemClock` times one process, `JobClock` a test that keeps several busy, and `PhaseClock` wraps
either and sums up the named phases of what it times.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple, Protocol

from pytest_rlperf.errors import FixtureError
from pytest_rlperf.machine.host import schedstat, times_blocked
from pytest_rlperf.phases import End, Note, listen, phase

SCHEDSTAT = "/proc/thread-self/schedstat"


class Elapsed(NamedTuple):
    """The times of one slice."""

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
    """Return the sum of at least one part."""
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
        """Read both at one moment: every system call may end in a wait for the core, and a wait
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


# -- jobs of several processes -------------------------------------------------------------------

Times = tuple[int, int]  # on a core, and waiting for one (ns)


class JobClock:
    """Times wall time less what waiting for a core cost the process that finished last.

    Process k computes for c_k and waits for d_k, so the job ends after max(c_k + d_k); alone on
    its cores it would end after max(c_k). Exact where the processes work side by side and meet
    at the end; where they take turns it leaves out too little.
    """

    def __init__(self, children: Sequence[int]) -> None:
        self._clock = SystemClock()
        self._children = children
        self._before: list[Times] = []

    def start(self) -> None:
        self._before = [schedstat(pid) for pid in self._children]
        self._clock.start()

    def stop(self) -> Elapsed:
        own = self._clock.stop()
        after = [schedstat(pid) for pid in self._children]
        spent = [
            (max(0, a[0] - b[0]), max(0, a[1] - b[1]))
            for a, b in zip(after, self._before, strict=True)
        ]
        return job_elapsed(own, spent)


def job_elapsed(own: Elapsed, children: Sequence[Times]) -> Elapsed:
    everyone = [(own.cpu_ns, own.delay_ns), *children]
    undisturbed = max(cpu for cpu, _ in everyone)
    disturbed = max(cpu + delay for cpu, delay in everyone)
    return Elapsed(own.wall_ns, sum(cpu for cpu, _ in everyone), disturbed - undisturbed)


# -- phases --------------------------------------------------------------------------------------

COST_PHASES = 2_000
COST_ROUNDS = 5
INSIDE = 0.5
"""About this share of what a phase costs lies between the two readings of its own time."""


class PhaseClock:
    """Times as its inner clock does, without the cost of phases, and sums the phases up.

    The clock is what all kinds of calls start and stop around the measured function and nothing
    else. What noting the phases costs is known, and left out of the time: only one of the two sides
    may have any.
    """

    def __init__(self, clock: Clock, read_ns: Callable[[], int]) -> None:
        self._clock = clock
        self._read_ns = read_ns  # tells the time of a phase's ends
        self._ends: list[End] = []  # noted in the current slice
        self._at_ns: list[int] = []
        self._spent_ns: dict[str, float] = {}
        self._own_ns = 0.0
        self._cost_ns: float | None = None

    @property
    def shares(self) -> Mapping[str, float]:
        """Shares of all that was timed so far; what an inner phase takes is not the outer one's."""
        whole = max(1.0, self._own_ns)
        return {name: min(1.0, ns / whole) for name, ns in self._spent_ns.items()}

    def start(self) -> None:
        self._ends, self._at_ns = [], []
        listen(_noting(self._ends, self._at_ns, self._read_ns))
        self._clock.start()

    def stop(self) -> Elapsed:
        elapsed = self._clock.stop()
        listen(None)
        if self._ends:
            elapsed = self._without_cost(elapsed, len(self._ends) // 2)
            self._add(spent(self._ends, self._at_ns), self._cost())
        self._own_ns += elapsed.own_ns
        return elapsed

    def _without_cost(self, elapsed: Elapsed, entered: int) -> Elapsed:
        cost = min(round(entered * self._cost()), elapsed.own_ns - 1, elapsed.cpu_ns)
        return elapsed._replace(wall_ns=elapsed.wall_ns - cost, cpu_ns=elapsed.cpu_ns - cost)

    def _add(self, phases: Mapping[str, tuple[int, int]], cost_ns: float) -> None:
        for name, (ns, entered) in phases.items():
            own_ns = max(0.0, ns - INSIDE * cost_ns * entered)
            self._spent_ns[name] = self._spent_ns.get(name, 0.0) + own_ns

    def _cost(self) -> float:
        """Return what noting one phase costs: the least of a few tries, since noise only adds."""
        if self._cost_ns is None:
            self._cost_ns = min(self._cost_once() for _ in range(COST_ROUNDS))
        return self._cost_ns

    def _cost_once(self) -> float:
        """Measure the cost without the clock: those of ranks start together, and not all of them
        have phases.
        """
        listen(_noting([], [], self._read_ns))
        begun = self._read_ns()
        for _ in repeat(None, COST_PHASES):
            with phase("cost"):
                pass
        ended = self._read_ns()
        listen(None)
        return (ended - begun) / COST_PHASES


def _noting(ends: list[End], at_ns: list[int], read_ns: Callable[[], int]) -> Note:
    """Return what notes the ends of phases in this thread, which alone is timed: those of other
    threads overlap with them.
    """
    add_end, add_time = ends.append, at_ns.append
    current, this = threading.get_ident, threading.get_ident()

    def note(end: End) -> None:
        if current() == this:
            add_end(end)
            add_time(read_ns())

    return note


def spent(ends: Sequence[End], at_ns: Sequence[int]) -> dict[str, tuple[int, int]]:
    """Return the time of each phase, without those inside it, and how often it was entered."""
    phases: dict[str, tuple[int, int]] = {}
    inside: list[str] = []
    last_ns = 0
    for (name, begins), now_ns in zip(ends, at_ns, strict=True):
        if inside:
            ns, entered = phases[inside[-1]]
            phases[inside[-1]] = ns + now_ns - last_ns, entered
        if begins:
            _refuse_inside_itself(name, inside)
            inside.append(name)
            ns, entered = phases.get(name, (0, 0))
            phases[name] = ns, entered + 1
        else:
            _refuse_crossing(name, inside)
            inside.pop()
        last_ns = now_ns
    if inside:
        raise FixtureError(
            f"the phase {inside[-1]!r} was never closed; write with rlperf.phase({inside[-1]!r}): "
            "and indent what belongs to it."
        )
    return phases


def _refuse_inside_itself(name: str, inside: Sequence[str]) -> None:
    if name in inside:
        raise FixtureError(
            f"the phase {name!r} was entered inside itself; give the inner one another name, or "
            "leave it out."
        )


def _refuse_crossing(name: str, inside: Sequence[str]) -> None:
    if not inside or inside[-1] != name:
        open_one = f"while {inside[-1]!r} was open inside it" if inside else "before it was entered"
        raise FixtureError(
            f"the phase {name!r} was closed {open_one}; use phases by with statements alone."
        )
