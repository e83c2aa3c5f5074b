"""Schedules of the learning rate and of the exploration while a learner learns.

Each counts in steps or in episodes, and says which: `per`. An optimiser asks for the value at each
of its own steps and looks at no other count.
"""

from __future__ import annotations

import math
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


class Rate(Protocol):
    """A value that depends on nothing but how far the training is."""

    def at(self, n: int) -> float:
        """Return the value after `n` steps or episodes."""


class Schedule(Rate, Protocol):
    """A rate that the tabular learners follow, in compiled code as well."""

    @property
    def per(self) -> Per: ...

    def course(self, n: int) -> Course:
        """Return the schedule from `n` on."""


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
    """A straight line from `start` to `end` over `over` steps or episodes, then `end`.

    It stays as it is for `stride` of them at a time: who learns a table looks at a schedule only
    where it changes, which at every step would cost as much as the step.
    """

    start: float
    end: float
    over: int
    per: Per
    stride: int = 1

    def __post_init__(self) -> None:
        _check_rates(start=self.start, end=self.end)
        _check_per(self.per)
        _check_length("a linear schedule lasts", self.over, self.per)
        _check_length("a linear schedule stays as it is for", self.stride, self.per)

    def at(self, n: int) -> float:
        n -= n % self.stride
        return self.start + (self.end - self.start) * min(n / self.over, 1.0)

    def course(self, n: int) -> Course:
        if self.stride > 1:
            return Constant(self.at(n)).course(n)  # until the next change
        slope = (self.end - self.start) / self.over
        low, high = sorted((self.start, self.end))
        return Course(self.at(n), 1.0, slope, low, high, self.per == "step")


@dataclass(frozen=True, slots=True)
class Exponential:
    """`start` times `decay` for every `every` steps or episodes, never below `minimum`.

    It falls a little at each of them: start * decay**(n / every).
    """

    start: float
    decay: float
    minimum: float
    per: Per
    every: int = 1

    def __post_init__(self) -> None:
        _check_rates(start=self.start, decay=self.decay, minimum=self.minimum)
        _check_per(self.per)
        _check_length("an exponential schedule decays over", self.every, self.per)
        if self.minimum > self.start:
            raise SettingError(f"the minimum {self.minimum} lies above the start {self.start}.")

    def at(self, n: int) -> float:
        value: float = self.start * self.decay ** (n / self.every)
        return max(self.minimum, value)

    def course(self, n: int) -> Course:
        factor = self.decay ** (1 / self.every)
        return Course(self.at(n), factor, 0.0, self.minimum, self.start, self.per == "step")


@dataclass(frozen=True, slots=True)
class Steps:
    """`start` times `factor` after every `every` steps, and the same value in between."""

    start: float
    factor: float = 0.5
    every: int = 10_000

    def __post_init__(self) -> None:
        _check_rates(start=self.start, factor=self.factor)
        _check_length("a schedule of steps changes after", self.every, "step")

    def at(self, n: int) -> float:
        return self.start * self.factor ** (n // self.every)


@dataclass(frozen=True, slots=True)
class Cosine:
    """Half a wave from `start` to `end` over `over` steps, then `end`.

    end + (start - end) * (1 + cos(pi * n / over)) / 2 (Loshchilov & Hutter, 2017, without restarts)
    """

    start: float
    end: float
    over: int

    def __post_init__(self) -> None:
        _check_rates(start=self.start, end=self.end)
        _check_length("a cosine schedule lasts", self.over, "step")

    def at(self, n: int) -> float:
        wave = math.cos(math.pi * min(n / self.over, 1.0))
        return self.end + (self.start - self.end) * (1.0 + wave) / 2.0


def _check_rates(**rates: float) -> None:
    for name, rate in rates.items():
        if not 0.0 <= rate <= 1.0:
            raise SettingError(f"{name} lies between 0 and 1, not at {rate}.")


def _check_per(per: str) -> None:
    if per not in PERS:
        raise SettingError(f"a schedule counts per step or per episode, not per {per!r}.")


def _check_length(what: str, length: int, per: str) -> None:
    if length < 1:
        raise SettingError(f"{what} at least 1 {per}, not {length}.")
