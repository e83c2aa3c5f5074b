"""The time of a run: what is left of it, and how long its parts may take at most."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

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
