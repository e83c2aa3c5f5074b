"""The time of a run: what is left of it, how long its parts may take at most, and which tests it
can carry to a verdict.
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

from pytest_rlperf.wire import WorkerKind

SCOUT_DEADLINE_S = (30.0, 120.0)
"""The least and the most time for scouting one test; the budget decides between them."""
BLOCK_DEADLINE_S = 20.0
SLOWEST = 20
"""A test of a block gets this time, and this many times what it should take."""
LATE = 3
"""Near the end of the budget it still gets this many times what it should take."""
STARTUP_S = 120.0
SLACK = 1.1
"""Times what is estimated: it may become more."""
ROUND_S = 10
"""A budget that is advised is a multiple of this."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A number of seconds from a moment of the clock."""

    seconds: float
    begun: float
    clock: Callable[[], float] = time.monotonic

    def elapsed_s(self) -> float:
        return self.clock() - self.begun

    def left_s(self) -> float:
        """Return what is left, which is below zero where the last block took longer."""
        return self.seconds - self.elapsed_s()

    def part(self, seconds: float) -> "Budget":
        """Return a budget of `seconds` from now on, or of what is left where that is less."""
        return Budget(min(seconds, self.left_s()), self.clock(), self.clock)

    def advised_s(self, needed_s: float) -> float:
        """Return a budget that should do where this one did not and about `needed_s` are needed, in
        a round number.
        """
        return ROUND_S * math.ceil(SLACK * max(needed_s, self.seconds) / ROUND_S)

    def startup_deadline_s(self) -> float:
        return min(STARTUP_S, BLOCK_DEADLINE_S + max(0.0, self.left_s()))

    def scout_deadline_s(self) -> float:
        least, most = SCOUT_DEADLINE_S
        return max(least, min(most, self.seconds))

    def block_deadline_s(self, expected_s: float) -> float:
        """Return the most time for one test of a block: generous, since a busy machine is no reason
        to fail; but the budget ends everything.
        """
        most_s = max(LATE * expected_s, self.left_s())
        return BLOCK_DEADLINE_S + min(SLOWEST * expected_s, most_s)


# -- a forecast of blocks, and who fits into it --------------------------------------------------
#
# A block for everybody and a verdict for nobody is time lost. So a test is begun, or gets another
# block, only where all the blocks up to its next look fit beside those of the tests chosen before.

MOST_SHARE = 0.25
"""Of the time: what a unit counts for at most while others have not been scouted."""

Unit = TypeVar("Unit")
"""What is chosen as a whole: a test, or all sizes of one."""


@dataclass(frozen=True, slots=True)
class Need:
    """The blocks that one test needs until there is something to decide."""

    kind: WorkerKind
    blocks: int
    block_s: float

    @property
    def seconds(self) -> float:
        return self.blocks * self.block_s


@dataclass(frozen=True, slots=True)
class BlockForecast:
    """What the blocks of several tests take together. Tests of one kind share the start of their
    workers in a block, so the seconds of each test do not simply add up.
    """

    block_s: Callable[[WorkerKind, float], float]  # of a block of one kind, given its tests'
    tests_s: Mapping[tuple[WorkerKind, int], float] = field(default_factory=dict)  # by block

    @property
    def seconds(self) -> float:
        return sum(self.block_s(kind, tests_s) for (kind, _), tests_s in self.tests_s.items())

    def plus(self, needs: Iterable[Need]) -> Self:
        """Return the forecast with these beside the others."""
        tests_s = dict(self.tests_s)
        for need in needs:
            for block in range(need.blocks):
                tests_s[need.kind, block] = tests_s.get((need.kind, block), 0.0) + need.block_s
        return replace(self, tests_s=tests_s)


def fitting(
    units: Sequence[Unit],
    needs_of: Callable[[Unit], Sequence[Need]],
    forecast: BlockForecast,
    left_s: float,
    urgent: Callable[[Unit], bool] = lambda unit: False,
) -> list[Unit]:
    """Return the units that fit beside what is forecast: the urgent ones first, then those that
    need least, so that as many as possible come to their next look.
    """
    needs = [(unit, needs_of(unit)) for unit in units]
    needs.sort(key=lambda each: (not urgent(each[0]), sum(need.seconds for need in each[1])))
    chosen = []
    for unit, own in needs:
        longer = forecast.plus(own)
        if longer.seconds <= left_s:
            chosen.append(unit)
            forecast = longer
    return chosen


def is_full(
    forecast: BlockForecast, waiting: Iterable[Sequence[Need]], left_s: float, whole_s: float
) -> bool:
    """Return whether the units that wait fill the time. One counts for no more than a share of the
    whole time, or of what is left if it does not fit into that: others behind a slow one may be
    quick, and to know that they have to be looked at.
    """
    counted: list[Need] = []
    for needs in waiting:
        fits = forecast.plus(needs).seconds <= left_s
        counted += _at_most(MOST_SHARE * (whole_s if fits else max(0.0, left_s)), needs)
    return left_s <= 0 or forecast.plus(counted).seconds > left_s


def _at_most(seconds: float, needs: Sequence[Need]) -> Iterable[Need]:
    whole_s = sum(need.seconds for need in needs)
    if whole_s <= seconds:
        return needs
    return (replace(need, block_s=need.block_s * seconds / whole_s) for need in needs)
