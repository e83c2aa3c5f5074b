"""A clock that also sums up the phases of what it times.

The clock is what all kinds of calls start and stop around the measured function and nothing else.
What noting the phases costs is known, and left out of the time: only one of the two sides may have
any.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat

from pytest_rlperf.errors import FixtureError
from pytest_rlperf.measure.clock import Clock, Elapsed
from pytest_rlperf.phases import End, Note, listen, phase

COST_PHASES = 2_000
COST_ROUNDS = 5
INSIDE = 0.5
"""Of what a phase costs, about this share lies between the two readings of its own time."""


class PhaseClock:
    """Times as its inner clock does, without the cost of phases."""

    def __init__(self, clock: Clock, read_ns: Callable[[], int]) -> None:
        """`read_ns` tells the time of a phase's ends."""
        self._clock = clock
        self._read_ns = read_ns
        self._ends: list[End] = []  # noted in the current slice
        self._at_ns: list[int] = []
        self._spent_ns: dict[str, float] = {}
        self._own_ns = 0.0
        self._cost_ns: float | None = None

    @property
    def shares(self) -> Mapping[str, float]:
        """Of all that was timed so far; what an inner phase takes is not the outer one's."""
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

    def _add(self, found: Mapping[str, tuple[int, int]], cost_ns: float) -> None:
        for name, (ns, entered) in found.items():
            own_ns = max(0.0, ns - INSIDE * cost_ns * entered)
            self._spent_ns[name] = self._spent_ns.get(name, 0.0) + own_ns

    def _cost(self) -> float:
        """Of one phase: the least of a few tries, since noise only adds."""
        if self._cost_ns is None:
            tries = [self._cost_once() for _ in range(COST_ROUNDS)]
            self._cost_ns = min(tries)
        return self._cost_ns

    def _cost_once(self) -> float:
        """Not by the clock: those of ranks start together, and not all of them have phases."""
        listen(_noting([], [], self._read_ns))
        begun = self._read_ns()
        for _ in repeat(None, COST_PHASES):
            with phase("cost"):
                pass
        ended = self._read_ns()
        listen(None)
        return (ended - begun) / COST_PHASES


def _noting(ends: list[End], at_ns: list[int], read_ns: Callable[[], int]) -> Note:
    """Phases of other threads overlap with those of this one, which alone is timed."""
    add_end, add_time = ends.append, at_ns.append
    current, this = threading.get_ident, threading.get_ident()

    def note(end: End) -> None:
        if current() == this:
            add_end(end)
            add_time(read_ns())

    return note


def spent(ends: Sequence[End], at_ns: Sequence[int]) -> dict[str, tuple[int, int]]:
    """Time of each phase, without those inside it, and how often it was entered."""
    found: dict[str, tuple[int, int]] = {}
    inside: list[str] = []
    last_ns = 0
    for (name, begins), now_ns in zip(ends, at_ns, strict=True):
        if inside:
            ns, entered = found[inside[-1]]
            found[inside[-1]] = ns + now_ns - last_ns, entered
        if begins:
            _refuse_inside_itself(name, inside)
            inside.append(name)
            ns, entered = found.get(name, (0, 0))
            found[name] = ns, entered + 1
        else:
            _refuse_crossing(name, inside)
            inside.pop()
        last_ns = now_ns
    if inside:
        raise FixtureError(
            f"the phase {inside[-1]!r} was never closed; write with rlperf.phase({inside[-1]!r}): "
            "and indent what belongs to it."
        )
    return found


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
