"""The networks of `nets.mlp` and the steps of `nets.optimisers.Adam` as pure functions for JAX.

Parameters come and go as the one flat array that NumPy's networks have: carrying them over is one
copy, and a step of the optimiser one fused loop. Inside they are a list of layers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp

from rl_impls.nets.activations import LINEAR, RELU, TANH
from rl_impls.nets.mlp import MLP
from rl_impls.nets.views import layers_of

Layers = list[tuple[Any, Any]]
# Of the networks that DQN and PPO have.
_ACTIVATIONS: Final[dict[int, Callable[[Any], Any]]] = {
    LINEAR: lambda z: z,
    RELU: jax.nn.relu,
    TANH: jnp.tanh,
}


@dataclass(frozen=True, slots=True)
class NetworkSpec:
    """All that a compiled function has to know of a network. With `remat` what the layers put out
    is computed again on the way back, and takes no memory until then.
    """

    sizes: tuple[int, ...]
    activation: int
    remat: bool = False

    @classmethod
    def of(cls, net: MLP, *, remat: bool = False) -> NetworkSpec:
        return cls(net.sizes, net.activation.code, remat)

    def layers(self, flat: Any) -> Layers:
        return list(zip(*layers_of(flat, self.sizes), strict=True))

    def flat(self, layers: Layers) -> Any:
        return jnp.concatenate([part.ravel() for layer in layers for part in layer])

    def row(self, layers: Layers, x: Any) -> Any:
        """One row; `jax.vmap` makes many of it."""
        run = jax.checkpoint(self._run) if self.remat else self._run
        return run(layers, x)

    def _run(self, layers: Layers, x: Any) -> Any:
        between = _ACTIVATIONS[self.activation]
        for weight, bias in layers[:-1]:
            x = between(x @ weight + bias)
        weight, bias = layers[-1]
        return x @ weight + bias


class Moments(NamedTuple):
    """What Adam keeps of the gradients so far."""

    mean: Any
    square: Any


def adam_step(
    params: Any,
    moments: Moments,
    grads: Any,
    correction: Any,
    *,
    betas: tuple[float, float],
    eps: float,
) -> tuple[Any, Moments]:
    """See `nets.optimisers`; `correction` is what its function of that name gives for this step."""
    mean = betas[0] * moments.mean + (1.0 - betas[0]) * grads
    square = betas[1] * moments.square + (1.0 - betas[1]) * grads * grads
    params = params - correction[0] * mean / (jnp.sqrt(square) * correction[1] + eps)
    return params, Moments(mean, square)


def clipped(grads: Sequence[Any], most: float) -> tuple[list[Any], Any]:
    """g min(1, most / |g|) with g all arrays end to end, and |g|."""
    norm = jnp.sqrt(sum((jnp.vdot(part, part) for part in grads), jnp.float32(0.0)))
    # A gradient that is not finite stays what it is.
    scale = jnp.where(norm > most, most / norm, 1.0)
    return [part * scale for part in grads], norm
