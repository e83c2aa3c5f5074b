"""Numbers to pixels, and the numbers that stand at an axis."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
MARGIN = 0.06
"""Of the range, on either side: nothing is drawn on the edge."""


@dataclass(frozen=True, slots=True)
class Scale:
    """From `low` to `high` in numbers, from `start` to `end` in pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    unit: float = 1.0  # in which round numbers are round

    def at(self, value: float) -> float:
        low, high, found = (self._shown(each) for each in (self.low, self.high, value))
        share = (found - low) / (high - low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def _shown(self, value: float) -> float:
        return math.log(value) if self.log else value

    def ticks(self, most: int = 4) -> list[float]:
        """At most so many round numbers within the range."""
        if self.log:
            return _thinned(_powers(self.low, self.high), most)
        wide = (self.high - self.low) / most / self.unit
        step = 10.0 ** math.floor(math.log10(wide))
        step *= self.unit * next(factor for factor in STEPS if factor * step >= wide)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def spanning(
    values: Iterable[float], start: float, end: float, *, log: bool = False, unit: float = 1.0
) -> Scale:
    """A scale that holds all of them, with room at both ends."""
    found = list(values)
    low, high = min(found), max(found)
    if log:
        room = max((high / low) ** MARGIN, 1.05)
        return Scale(low / room, high * room, start, end, log=True)
    room = MARGIN * (high - low) or 0.05 * abs(high) or 1.0
    return Scale(low - room, high + room, start, end, unit=unit)


def _powers(low: float, high: float) -> list[float]:
    exponents = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    return [10.0**k for k in exponents] or [low, high]


def _thinned(values: list[float], most: int) -> list[float]:
    return values[:: math.ceil(len(values) / most)]
