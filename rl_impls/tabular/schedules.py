"""How the learning rate and the exploration change while a learner learns.

Each schedule counts in steps or in episodes, and says which: `per`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

from rl_impls.errors import SettingError

Per = Literal["step", "episode"]
PERS: Final = ("step", "episode")


class Course(NamedTuple):
    """A schedule from its present value on, in the form that compiled code follows.

    The next value is value * factor + slope, kept between low and high.
    """

    value: float
    factor: float
    slope: float
    low: float
    high: float
    per_step: bool


class Schedule(Protocol):
    @property
    def per(self) -> Per: ...

    def at(self, n: int) -> float:
        """The value after `n` steps or episodes."""

    def course(self, n: int) -> Course:
        """The same from `n` on."""


@dataclass(frozen=True, slots=True)
class Constant:
    """Always the same value."""

    value: float
    per: Per = "episode"

    def __post_init__(self) -> None:
        _check_rates(value=self.value)
        _check_per(self.per)

    def at(self, n: int) -> float:
        return self.value

    def course(self, n: int) -> Course:
        return Course(self.value, 1.0, 0.0, self.value, self.value, per_step=False)


@dataclass(frozen=True, slots=True)
class Linear:
    """From `start` to `end` in a straight line over `over` steps or episodes, then `end`."""

    start: float
    end: float
    over: int
    per: Per

    def __post_init__(self) -> None:
        _check_rates(start=self.start, end=self.end)
        _check_per(self.per)
        if self.over < 1:
            raise SettingError(f"a linear schedule lasts at least 1 {self.per}, not {self.over}.")

    def at(self, n: int) -> float:
        return self.start + (self.end - self.start) * min(n / self.over, 1.0)

    def course(self, n: int) -> Course:
        slope = (self.end - self.start) / self.over
        low, high = sorted((self.start, self.end))
        return Course(self.at(n), 1.0, slope, low, high, self.per == "step")


@dataclass(frozen=True, slots=True)
class Exponential:
    """`start` times `decay` for each step or episode, never below `minimum`."""

    start: float
    decay: float
    minimum: float
    per: Per

    def __post_init__(self) -> None:
        _check_rates(start=self.start, decay=self.decay, minimum=self.minimum)
        _check_per(self.per)
        if self.minimum > self.start:
            raise SettingError(f"the minimum {self.minimum} lies above the start {self.start}.")

    def at(self, n: int) -> float:
        return max(self.minimum, self.start * self.decay**n)

    def course(self, n: int) -> Course:
        return Course(self.at(n), self.decay, 0.0, self.minimum, self.start, self.per == "step")


def _check_rates(**rates: float) -> None:
    for name, rate in rates.items():
        if not 0.0 <= rate <= 1.0:
            raise SettingError(f"{name} lies between 0 and 1, not at {rate}.")


def _check_per(per: str) -> None:
    if per not in PERS:
        raise SettingError(f"a schedule counts per step or per episode, not per {per!r}.")
