"""A network of action values in two streams (Wang et al., 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.nets import fastest
from rl_impls.nets.mlp import MLP, n_params_of


class DuelingMLP:
    """What a state is worth, and by how much each action is better than their mean:

    q(s, a) = v(s) + A(s, a) - mean_a' A(s, a')

    Each stream has a hidden layer of its own, the last width of `sizes`; the layers before are
    shared. It is used as an `MLP`, and all parameters lie in one flat array: those of the shared
    layers, of the value, of the advantages.
    """

    def __init__(
        self, sizes: Sequence[int], *, init: str, max_batch: int, seed: int | None = None
    ) -> None:
        *shared, width, n_actions = sizes
        streams = [[shared[-1], width, 1], [shared[-1], width, n_actions]]
        parts = [shared, *streams] if len(shared) > 1 else streams
        ends = np.cumsum([n_params_of(part) for part in parts])
        self.max_batch: Final = max_batch
        self.params: Final[NDArray[Any]] = np.zeros(ends[-1], np.float32)
        self.grads: Final = np.zeros_like(self.params)
        seeds = np.random.SeedSequence(seed).generate_state(len(parts), np.uint64)
        networks = [
            MLP(
                part, output="relu" if part is shared else "linear", init=init,
                max_batch=max_batch, seed=int(seed),
                memory=(self.params[end - n_params_of(part) : end],
                        self.grads[end - n_params_of(part) : end]),
            )
            for part, end, seed in zip(parts, ends, seeds, strict=True)
        ]  # fmt: skip
        *trunk, self.value, self.advantage = networks
        self.trunk: Final = trunk[0] if trunk else None
        self._ops: Final = fastest()
        self._q: Final = np.zeros((max_batch, n_actions), np.float32)
        self._by_value: Final = np.zeros((max_batch, 1), np.float32)
        self._by_advantage: Final = np.zeros_like(self._q)

    def forward(self, x: NDArray[Any]) -> NDArray[Any]:
        """Map (batch, sizes[0]) to (batch, sizes[-1]); the next call overwrites what it returns."""
        h = x if self.trunk is None else self.trunk.forward(x)
        q = self._q[: len(x)]
        self._ops.join_streams(self.value.forward(h), self.advantage.forward(h), q)
        return q

    def backward(self, grad_out: NDArray[Any]) -> None:
        """Turn dL/dq of the last `forward`'s output into dL/dparams in `grads`."""
        n, goes_on = len(grad_out), self.trunk is not None
        by_value, by_advantage = self._by_value[:n], self._by_advantage[:n]
        self._ops.split_gradient(grad_out, by_value, by_advantage)
        first = self.value.backward(by_value, input_grad=goes_on)
        second = self.advantage.backward(by_advantage, input_grad=goes_on)
        if self.trunk is not None:
            assert first is not None
            assert second is not None
            first += second
            self.trunk.backward(first)
