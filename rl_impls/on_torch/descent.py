"""Steps down the gradient of a loss: in which precision, in how many parts, clipped to which norm.

The loss of a batch is a mean. Of a batch in parts, each part's mean counts by its share of the
rows, so that the gradients of all parts add up to that of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import torch

from rl_impls.on_torch.adam import FlatAdam
from rl_impls.on_torch.computing import Computing


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
        """For the forward pass and the loss."""
        if not self._mixed:
            return nullcontext()
        kind = torch.float16 if self._device == "cuda" else torch.bfloat16
        return torch.autocast(self._device, dtype=kind)

    def add(self, loss: torch.Tensor, share: float = 1.0) -> None:
        """Add the gradient of a part, which has this share of the rows."""
        self._scaler.scale(loss * share if share != 1.0 else loss).backward()

    def step(self) -> torch.Tensor:
        """By all that was added; the norm of it, before it was clipped."""
        for each in self._optimisers:
            self._scaler.unscale_(each.inner)
        norm = torch.nn.utils.clip_grad_norm_(self._params, self._max_norm)
        for each in self._optimisers:
            each.prepare()
            self._scaler.step(each.inner)
            each.inner.zero_grad(set_to_none=True)
        self._scaler.update()
        return norm
