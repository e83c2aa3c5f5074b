"""What a run takes, in seconds by what they went to."""

from dataclasses import astuple, dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Spending:
    """The seconds of a run, of a test in it, or of one side of a block."""

    preparing: float = 0.0  # the base tree, builds and facts of the machine
    workers: float = 0.0  # starting and ending them, as far as the run waited for it
    scouting: float = 0.0
    fixtures: float = 0.0  # and the test's own lines around the measured call
    warmup: float = 0.0  # calls before the slices, compiling included
    waiting: float = 0.0  # for the partner, until it was ready or at its end, too
    slices: float = 0.0  # of both sides
    profiles: float = 0.0
    memory: float = 0.0
    rest: float = 0.0

    def __add__(self, other: Self) -> Self:
        return type(self)(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    def within(self, seconds: float) -> Self:
        """Return the same parts with the rest of `seconds`."""
        parts = sum(astuple(self)) - self.rest
        return replace(self, rest=max(0.0, seconds - parts))
