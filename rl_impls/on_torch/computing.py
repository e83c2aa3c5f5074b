"""How torch computes the updates of an agent: where, in which precision, compiled or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch

from rl_impls.errors import SettingError
from rl_impls.on_torch.device import device_named

Precision = Literal["float32", "mixed"]


@dataclass(frozen=True, slots=True)
class Computing:
    """`mixed` computes in bfloat16 on the CPU, which has the range of float32, and in float16 on
    CUDA, whose small gradients a scaler keeps from vanishing. Parameters stay float32.
    """

    device: str = "auto"
    precision: Precision = "float32"
    compiled: bool = False

    def __post_init__(self) -> None:
        if self.precision not in get_args(Precision):
            raise SettingError(
                f"precision is {' or '.join(get_args(Precision))}, and not {self.precision!r}."
            )
        device_named(self.device)

    @property
    def place(self) -> torch.device:
        return device_named(self.device)

    def ready(self, function: Callable[..., Any]) -> Any:
        """Compiled at its first call, where that is asked for."""
        return torch.compile(function) if self.compiled else function
