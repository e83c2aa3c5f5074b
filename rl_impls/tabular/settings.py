"""The hyper-parameters of a learner."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final, Self

from rl_impls.errors import SettingError
from rl_impls.schedules import Constant, Exponential, Linear, Schedule

_KINDS: Final = {kind.__name__: kind for kind in (Constant, Linear, Exponential)}


@dataclass(frozen=True, slots=True)
class Settings:
    """Learning rate 0.3; exploration from 1 by 0.999 an episode down to 0.05; discount 0.95."""

    learning_rate: Schedule = field(default_factory=lambda: Constant(0.3))
    epsilon: Schedule = field(default_factory=lambda: Exponential(1.0, 0.999, 0.05, "episode"))
    discount: float = 0.95

    def __post_init__(self) -> None:
        if not 0.0 <= self.discount <= 1.0:
            raise SettingError(f"discount lies between 0 and 1, not at {self.discount}.")

    def as_data(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "learning_rate": _schedule_as_data(self.learning_rate),
            "epsilon": _schedule_as_data(self.epsilon),
            "discount": self.discount,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        return cls(
            learning_rate=_schedule_from_data(data["learning_rate"]),
            epsilon=_schedule_from_data(data["epsilon"]),
            discount=data["discount"],
        )


def _schedule_as_data(schedule: Schedule) -> dict[str, Any]:
    if type(schedule).__name__ not in _KINDS:
        raise SettingError(
            f"a {type(schedule).__name__} schedule cannot be saved: use {', '.join(_KINDS)}."
        )
    return {"kind": type(schedule).__name__, **asdict(schedule)}  # type: ignore[call-overload]


def _schedule_from_data(data: dict[str, Any]) -> Schedule:
    arguments = dict(data)
    return _KINDS[arguments.pop("kind")](**arguments)
