"""torch's Adam, with the state of `nets.optimisers.Adam`: a training can change between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from rl_impls.errors import SettingError
from rl_impls.nets.optimisers import State
from rl_impls.schedules import Constant, Rate

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
        """To be called before each step of `inner`, by whoever makes it."""
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
