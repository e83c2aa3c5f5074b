"""The device, the precision and the optimiser that torch computes updates with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from rl_impls.errors import SettingError
from rl_impls.nets.optimisers import State
from rl_impls.schedules import Constant, Rate


def device_named(name: str = "auto") -> torch.device:
    """ "auto": the first GPU where CUDA finds one, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise SettingError(f"torch knows no device {name!r}: choose auto, cpu or cuda.") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise SettingError(f"there is no {name} here: choose auto or cpu.")
    return device


def sent(array: NDArray[Any], device: torch.device) -> torch.Tensor:
    """Put the array on the device: it is the same memory on the CPU, else it goes by way of pinned
    memory, from which a copy needs no further one and does not stop the caller."""
    tensor = torch.from_numpy(array)
    if device.type == "cpu":
        return tensor
    return tensor.pin_memory().to(device, non_blocking=True)


def spread(module: torch.nn.Module, device: torch.device) -> torch.nn.Module:
    """Split a batch over all GPUs, where there are several."""
    if device.type == "cuda" and torch.cuda.device_count() > 1:
        return torch.nn.DataParallel(module)
    return module


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
        """Return the function, compiled at its first call where that is asked for."""
        return torch.compile(function) if self.compiled else function


_KEPT: Final = {"mean": "exp_avg", "square": "exp_avg_sq"}


class FlatAdam:
    def __init__(
        self, params: Sequence[torch.nn.Parameter], rate: Rate | float, *, eps: float = 1e-8
    ) -> None:
        self.params: Final = list(params)
        self.rate: Final[Rate] = Constant(rate, "step") if isinstance(rate, float) else rate
        self.n_steps = 0
        # One kernel for all parameters, where the device has one.
        self.inner: Final = torch.optim.Adam(self.params, lr=self.rate.at(0), eps=eps, fused=True)

    def prepare(self) -> None:
        """Set the learning rate; whoever makes a step of `inner` calls this before."""
        for group in self.inner.param_groups:
            group["lr"] = self.rate.at(self.n_steps)
        self.n_steps += 1

    def state(self) -> State:
        return {
            "n_steps": np.array(self.n_steps),
            **{name: self._flat(key) for name, key in _KEPT.items()},
        }

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        size = sum(param.numel() for param in self.params)
        if any(name not in state or state[name].shape != (size,) for name in _KEPT):
            raise SettingError(f"this state is not that of an optimiser of {size} parameters.")
        self.n_steps = int(state["n_steps"])
        for param in self.params:
            self.inner.state[param]["step"] = torch.tensor(float(self.n_steps), device=param.device)
        for name, key in _KEPT.items():
            at = 0
            for param in self.params:
                part = torch.from_numpy(state[name][at : at + param.numel()].copy())
                self.inner.state[param][key] = part.view_as(param).to(param.device)
                at += param.numel()

    def _flat(self, key: str) -> NDArray[Any]:
        kept = [self.inner.state[param].get(key, torch.zeros_like(param)) for param in self.params]
        return np.concatenate([each.detach().cpu().numpy().ravel() for each in kept])


# Steps down the gradient of a loss: in which precision, in how many parts, clipped to which norm.
#
# The loss of a batch is a mean. Of a batch in parts, each part's mean counts by its share of the
# rows, so that the gradients of all parts add up to that of the whole.


class Descent:
    def __init__(
        self, optimisers: Sequence[FlatAdam], computing: Computing, *, max_norm: float
    ) -> None:
        self._optimisers: Final = optimisers
        self._params: Final = [param for each in optimisers for param in each.params]
        self._max_norm: Final = max_norm
        self._device: Final = computing.place.type
        self._mixed: Final = computing.precision == "mixed"
        scales = self._mixed and self._device == "cuda"
        self._scaler: Final = torch.amp.GradScaler(self._device, enabled=scales)

    def precision(self) -> AbstractContextManager[Any]:
        """Return the context for the forward pass and the loss."""
        if not self._mixed:
            return nullcontext()
        kind = torch.float16 if self._device == "cuda" else torch.bfloat16
        return torch.autocast(self._device, dtype=kind)

    def add(self, loss: torch.Tensor, share: float = 1.0) -> None:
        """Add the gradient of a part, which has this share of the rows."""
        self._scaler.scale(loss * share if share != 1.0 else loss).backward()

    def step(self) -> torch.Tensor:
        """Make a step by all that was added, and return the norm of it, before it was clipped."""
        for each in self._optimisers:
            self._scaler.unscale_(each.inner)
        norm = torch.nn.utils.clip_grad_norm_(self._params, self._max_norm)
        for each in self._optimisers:
            each.prepare()
            self._scaler.step(each.inner)
            each.inner.zero_grad(set_to_none=True)
        self._scaler.update()
        return norm
