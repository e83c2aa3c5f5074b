"""Networks, Adam and compiling ahead, as pure functions for JAX."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from rl_impls.errors import SettingError
from rl_impls.nets.mlp import MLP, layers_of
from rl_impls.nets.optimisers import State, corrections
from rl_impls.nets.plain import LINEAR, RELU, TANH
from rl_impls.schedules import Rate


@dataclass(frozen=True, slots=True)
class Precompiled:
    """A jitted function for arguments of some shapes; others are refused."""

    function: Callable[..., Any]
    seconds: float  # that tracing and compiling took


def precompile(function: Any, *dummies: Any) -> Precompiled:
    """Compile a jitted function for arguments like these, of which only shapes and types count.

    Nothing is computed. Unlike a first call it says what it took, and a later call with other
    shapes is a mistake and not another compilation.
    """
    begin = time.perf_counter()
    like = jax.tree_util.tree_map(_shaped, dummies)
    compiled = function.lower(*like).compile()
    return Precompiled(compiled, time.perf_counter() - begin)


def _shaped(dummy: Any) -> Any:
    # Without JAX's switch for it, 64 bits become 32 in a call, too.
    kind = jax.dtypes.canonicalize_dtype(dummy.dtype, allow_extended_dtype=True)
    return jax.ShapeDtypeStruct(dummy.shape, kind)


def forget_compiled() -> None:
    """Drop all that JAX compiled in this process: the next call of anything compiles again."""
    jax.clear_caches()


# The networks of `nets.mlp` and the steps of `nets.optimisers.Adam` as pure functions for JAX.
#
# Parameters come and go as the one flat array that NumPy's networks have: carrying them over is one
# copy, and a step of the optimiser one fused loop. Inside they are a list of layers.


Layers = list[tuple[Any, Any]]
# Of the networks that DQN and PPO have.
_ACTIVATIONS: Final[dict[int, Callable[[Any], Any]]] = {
    LINEAR: lambda z: z,
    RELU: jax.nn.relu,
    TANH: jnp.tanh,
}


@dataclass(frozen=True, slots=True)
class NetworkSpec:
    """The shape of a network, for a compiled function. With `remat` the outputs of layers are
    computed again on the way back, and take no memory until then."""

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
        """Run the network on one row; `jax.vmap` makes many of it."""
        run = jax.checkpoint(self._run) if self.remat else self._run
        return run(layers, x)

    def _run(self, layers: Layers, x: Any) -> Any:
        between = _ACTIVATIONS[self.activation]
        for weight, bias in layers[:-1]:
            x = between(x @ weight + bias)
        weight, bias = layers[-1]
        return x @ weight + bias


class Moments(NamedTuple):
    """The moments of the gradients so far, which Adam keeps."""

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
    """Make a step of `nets.optimisers.Adam`; `correction` is what its function of that name gives
    for this step."""
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


BETAS: Final = (0.9, 0.999)


class CarriedAdam:
    """Saved as `nets.optimisers.Adam` is: a training can change between them."""

    def __init__(self, size: int, rate: Rate) -> None:
        self.n_steps = 0
        self.moments = Moments(jnp.zeros(size, jnp.float32), jnp.zeros(size, jnp.float32))
        self._rate: Final = rate

    def next_corrections(self, n: int) -> NDArray[np.float32]:
        """Return the corrections of the next `n` steps, (n, 2), from float64: there the compiled
        function has float32."""
        steps = range(self.n_steps, self.n_steps + n)
        pairs = [corrections(self._rate.at(step), step + 1, BETAS) for step in steps]
        return np.array(pairs, np.float32)

    def took(self, n: int, moments: Moments) -> None:
        self.n_steps += n
        self.moments = moments

    def state(self) -> State:
        kept = {name: np.array(array) for name, array in self.moments._asdict().items()}
        return {"n_steps": np.array(self.n_steps), **kept}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        size = len(self.moments.mean)
        if any(name not in state or state[name].shape != (size,) for name in Moments._fields):
            raise SettingError(f"this state is not that of an optimiser of {size} parameters.")
        self.n_steps = int(state["n_steps"])
        # Copies: JAX takes an array's memory as it is where it can, and expects it to stay.
        self.moments = Moments(*(jnp.array(state[name], copy=True) for name in Moments._fields))
