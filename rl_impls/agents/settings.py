"""What the settings of agents have in common: plain numbers, checked once, saved as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from rl_impls.errors import SettingError


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Hidden layers, learning rate, discount."""

    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 3e-4
    discount: float = 0.99

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """One sentence on the first value that makes no sense."""
        if not self.hidden:
            raise SettingError("hidden names the width of at least 1 layer.")
        for width in self.hidden:
            at_least(1, hidden=width)
        fraction(learning_rate=self.learning_rate, discount=self.discount)

    def as_data(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        values = dict(data)
        values["hidden"] = tuple(values["hidden"])
        return cls(**values)


def at_least(least: int, **values: int) -> None:
    for name, value in values.items():
        if not value >= least:
            raise SettingError(f"{name} is at least {least}, not {value}.")


def fraction(**values: float) -> None:
    for name, value in values.items():
        if not 0.0 <= value <= 1.0:
            raise SettingError(f"{name} lies between 0 and 1, not at {value}.")


def positive(**values: float) -> None:
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise SettingError(f"{name} lies above 0, not at {value}.")


def not_negative(**values: float) -> None:
    for name, value in values.items():
        if not 0.0 <= value < math.inf:
            raise SettingError(f"{name} is 0 or more, not {value}.")
