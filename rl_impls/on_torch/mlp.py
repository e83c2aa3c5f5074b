"""A network of `nets.mlp` as torch computes it, with the same weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import torch
from numpy.typing import NDArray

from rl_impls.nets.activations import LINEAR, RELU, TANH
from rl_impls.nets.mlp import MLP
from rl_impls.on_torch.device import sent

# Of the networks that DQN and PPO have.
_ACTIVATIONS: Final[dict[int, Callable[[torch.Tensor], torch.Tensor]]] = {
    LINEAR: lambda z: z,
    RELU: torch.relu,
    TANH: torch.tanh,
}


class TorchMLP(torch.nn.Module):
    """On the CPU its parameters lie in the memory of the network it was made of: what torch learns
    is there at once. Elsewhere `read` and `write` carry them over.
    """

    def __init__(self, net: MLP, device: torch.device) -> None:
        super().__init__()
        self._net: Final = net
        self._shares: Final = device.type == "cpu"
        arrays = [*net.weights, *net.biases]
        self._values: Final = torch.nn.ParameterList(
            torch.nn.Parameter(sent(array, device)) for array in arrays
        )
        # As they lie in the flat array: weights and biases in turn.
        n = len(net.weights)
        self.in_order: Final = [self._values[i + part] for i in range(n) for part in (0, n)]
        self._between: Final = _ACTIVATIONS[net.activation.code]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = len(self._values) // 2
        for i in range(n):
            x = torch.addmm(self._values[n + i], x, self._values[i])
            if i < n - 1:
                x = self._between(x)
        return x

    def read(self) -> None:
        """Take over what the network of NumPy has become."""
        if not self._shares:
            with torch.no_grad():
                for value, array in self._pairs():
                    value.copy_(torch.from_numpy(array))

    def write(self) -> None:
        """Hand on what was learned here."""
        if not self._shares:
            with torch.no_grad():
                for value, array in self._pairs():
                    torch.from_numpy(array).copy_(value)

    def _pairs(self) -> Iterator[tuple[torch.nn.Parameter, NDArray[Any]]]:
        return zip(self._values, [*self._net.weights, *self._net.biases], strict=True)
