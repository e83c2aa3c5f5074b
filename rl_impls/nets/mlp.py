"""A multi-layer perceptron, forward and backward, in arrays that are allocated once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rl_impls.errors import SettingError
from rl_impls.nets import fastest
from rl_impls.nets.plain import GELU, LINEAR, SLOPE, Activation, Array, activation_named

Weights = NDArray[np.float32]


def he_normal(rng: np.random.Generator, fan_in: int, fan_out: int) -> Weights:
    """Weights from N(0, 2 / fan_in), which keep the variance of ReLU layers (He et al., 2015)."""
    scale = np.float32(np.sqrt(2.0 / fan_in))
    return rng.standard_normal((fan_in, fan_out), dtype=np.float32) * scale


def he_uniform(rng: np.random.Generator, fan_in: int, fan_out: int) -> Weights:
    """Weights from U(-b, b), b = sqrt(6 / fan_in), which have the variance of `he_normal`."""
    return _uniform(rng, fan_in, fan_out, math.sqrt(6.0 / fan_in))


def xavier_uniform(rng: np.random.Generator, fan_in: int, fan_out: int) -> Weights:
    """Weights from U(-b, b), b = sqrt(6 / (fan_in + fan_out)), for tanh (Glorot & Bengio, 2010)."""
    return _uniform(rng, fan_in, fan_out, math.sqrt(6.0 / (fan_in + fan_out)))


def fan_in_uniform(rng: np.random.Generator, fan_in: int, fan_out: int) -> Weights:
    """Weights from U(-b, b), b = 1 / sqrt(fan_in), as torch begins with, and its biases with them.

    That is a third of the variance of LeCun et al. (1998): outputs begin small, and so do the
    values that a critic bootstraps from.
    """
    return _uniform(rng, fan_in, fan_out, 1.0 / math.sqrt(fan_in))


def orthogonal(rng: np.random.Generator, fan_in: int, fan_out: int) -> Weights:
    """Weights whose rows or columns, whichever are fewer, are orthonormal, each such matrix as
    likely as the others (Saxe et al., 2014; Mezzadri, 2007)."""
    normal = rng.standard_normal((max(fan_in, fan_out), min(fan_in, fan_out)))
    q, r = np.linalg.qr(normal)
    q *= np.sign(np.diag(r))  # without it the signs would follow the algorithm, not chance
    return (q if fan_in >= fan_out else q.T).astype(np.float32)


def _uniform(rng: np.random.Generator, fan_in: int, fan_out: int, bound: float) -> Weights:
    return rng.uniform(-bound, bound, (fan_in, fan_out)).astype(np.float32)


INITS: Final[dict[str, Callable[[np.random.Generator, int, int], Weights]]] = {
    init.__name__: init
    for init in (he_uniform, xavier_uniform, he_normal, fan_in_uniform, orthogonal)
}
# Those that draw biases too. With the others they begin at 0.
DRAW_BIASES: Final = ("fan_in_uniform",)


def init_named(name: str) -> Callable[[np.random.Generator, int, int], Weights]:
    if name not in INITS:
        raise SettingError(f"there is no init {name!r}: choose one of {', '.join(INITS)}.")
    return INITS[name]


class Layer(NamedTuple):
    """The arrays that one dense layer works on in a batch of some size: y = activation(z), z = h W
    + b."""

    activation: Activation
    weight: Array
    bias: Array
    z: Array  # the same array as y where the activation does not keep it
    y: Array
    delta: Array  # dL/dy, then dL/dz
    delta_before: Array  # dL/dh, which is the delta of the layer before
    slope: Array  # dy/dz, where it is not computed on the way


class Views(NamedTuple):
    layers: tuple[Layer, ...]
    out: Array
    few: bool  # rows, too few for a call of BLAS a layer to pay


def layers_of(flat: Array, sizes: Sequence[int]) -> tuple[list[Array], list[Array]]:
    """Return weights (fan_in, fan_out) and biases (fan_out,): views of one flat array, layer by
    layer."""
    weights, biases = [], []
    at = 0
    for fan_in, fan_out in pairwise(sizes):
        bias_at = at + fan_in * fan_out
        weights.append(flat[at:bias_at].reshape(fan_in, fan_out))
        biases.append(flat[bias_at : bias_at + fan_out])
        at = bias_at + fan_out
    return weights, biases


def n_params_of(sizes: Sequence[int]) -> int:
    """Return how many weights and biases there are between layers of these sizes."""
    return sum((fan_in + 1) * fan_out for fan_in, fan_out in pairwise(sizes))


# Batches come in few sizes. Whoever goes through many makes the views of each anew.
_MOST_VIEWS: Final = 16


class MLP:
    """A stack of dense layers with an activation between them and another one at the end.

    All weights and biases lie in one flat array, `params`, and their gradients in another, `grads`:
    an optimiser, a copy for a target network or an average over processes is one pass over each.
    `weights`, `biases`, `weight_grads` and `bias_grads` are views of them, layer by layer. First
    weights are `gains[0]` times what `init` draws in hidden layers, `gains[1]` times in the last.
    `memory` is where `params` and `grads` are to lie, if they are part of a larger network's.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        *,
        activation: str = "relu",
        output: str = "linear",
        init: str = "he_uniform",
        gains: tuple[float, float] = (1.0, 1.0),
        max_batch: int,
        seed: int | None = None,
        dtype: DTypeLike = np.float32,
        memory: tuple[Array, Array] | None = None,
    ) -> None:
        if len(sizes) < 2 or min(sizes) < 1:
            raise ValueError(f"an MLP needs an input and an output size, not {list(sizes)}")
        if max_batch < 1:
            raise ValueError(f"max_batch is at least 1, not {max_batch}")
        self.sizes: Final = tuple(sizes)
        self.max_batch: Final = max_batch
        self.dtype: Final = np.dtype(dtype)
        self.activation: Final = activation_named(activation)
        self.output: Final = activation_named(output)
        self._ops: Final = fastest()
        self._allocate(memory)
        self._begin(init, gains, np.random.default_rng(seed))

    def _begin(self, init: str, gains: tuple[float, float], rng: np.random.Generator) -> None:
        weigh = init_named(init)
        for weight, bias in zip(self.weights, self.biases, strict=True):
            fan_in, fan_out = weight.shape
            weight[:] = weigh(rng, fan_in, fan_out) * gains[weight is self.weights[-1]]
            if init in DRAW_BIASES:
                bias[:] = _uniform(rng, 1, fan_out, 1.0 / math.sqrt(fan_in))[0]

    def _allocate(self, memory: tuple[Array, Array] | None) -> None:
        n_params = n_params_of(self.sizes)
        own = memory or (np.zeros(n_params, self.dtype), np.zeros(n_params, self.dtype))
        self.params: NDArray[Any] = own[0]
        self.grads: NDArray[Any] = own[1]
        self.weights, self.biases = layers_of(self.params, self.sizes)
        self.weight_grads, self.bias_grads = layers_of(self.grads, self.sizes)
        # Of one part of a batch, until it is added to `grads`: made when it is first needed.
        self._part: NDArray[Any] = self.grads[:0]
        self._part_grads = layers_of(self._part, ())
        room = self.max_batch * sum(self.sizes[1:])
        self._outputs = np.empty(room, self.dtype)
        keeps_z = self.activation.keeps_z or self.output.keeps_z
        self._inputs = np.empty(room, self.dtype) if keeps_z else self._outputs
        # What flows back: of a layer in one, of the layer before it in the other; and slopes.
        self._back = np.empty((3, self.max_batch * max(self.sizes)), self.dtype)
        self._n_units = np.array(self.sizes)
        self._views: dict[tuple[int, ...], Views] = {}
        self._last: Views | None = None
        self._x: Array = self.params[:0]

    def forward(self, x: NDArray[Any]) -> NDArray[Any]:
        """Map (batch, sizes[0]) to (batch, sizes[-1]).

        The next call overwrites the returned array: copy what has to last. `x` is kept, not copied,
        until `backward`.
        """
        # A shape that was here before needs no further look.
        views = self._views.get(x.shape) or self._checked(x)
        if x.dtype != self.dtype:
            self._refuse_dtype(x)
        self._x = x
        self._last = views
        if views.few and x.flags.carray:
            self._ops.forward_rows(
                x, self.params, self._inputs, self._outputs, self._n_units, self.max_batch,
                self.activation.code, self.output.code,
            )  # fmt: skip
            return views.out
        h = x
        for layer in views.layers:
            np.matmul(h, layer.weight, out=layer.z)
            self._ops.add_bias(layer.z, layer.bias, layer.activation.code)
            if layer.activation.code not in self._ops.VALUES:
                layer.activation.value(layer.z, layer.y)
            h = layer.y
        return h

    def backward(
        self, grad_out: NDArray[Any], *, accumulate: bool = False, input_grad: bool = False
    ) -> NDArray[Any] | None:
        """Turn dL/dy of the last `forward`'s output into dL/dparams in `grads`.

        Sums over the rows: the gradient of a mean over the batch comes out where `grad_out` was
        divided by its number of rows, as the losses in `optimisers` do. With `accumulate` it is
        added to what `grads` holds. With `input_grad` it returns dL/dx, which the next call
        overwrites. `grad_out` is left alone.
        """
        views = self._last
        if views is None:
            raise ValueError("there is nothing to go back through: call forward first")
        if grad_out.shape != views.out.shape or grad_out.dtype != self.dtype:
            raise ValueError(
                f"expected a {self.dtype} gradient of shape {views.out.shape}, "
                f"not {grad_out.dtype} {grad_out.shape}"
            )
        weight_grads, bias_grads = self._goal(accumulate)
        delta = grad_out
        for i in range(len(views.layers) - 1, -1, -1):
            layer = views.layers[i]
            delta = self._through(layer, delta, bias_grads[i])
            h = views.layers[i - 1].y if i > 0 else self._x
            np.matmul(h.T, delta, out=weight_grads[i])
            if i > 0 or input_grad:
                delta = np.matmul(delta, layer.weight.T, out=layer.delta_before)
        if accumulate:
            np.add(self.grads, self._part, out=self.grads)
        return delta if input_grad else None

    def _through(self, layer: Layer, delta: Array, bias_grad: Array) -> Array:
        """Go back through a layer's activation, and compute the gradient of its bias."""
        code = layer.activation.code
        # What the caller gave is not written to, and compiled code wants it in one piece.
        if delta is not layer.delta and not (code == LINEAR and delta.flags.carray):
            layer.delta[...] = delta
            delta = layer.delta
        kept = layer.z if layer.activation.keeps_z else layer.y
        if code != LINEAR and code not in self._ops.SLOPES:
            slope = self._ops.gelu_slope if code == GELU else layer.activation.slope
            slope(kept, layer.slope)
            kept, code = layer.slope, SLOPE
        self._ops.through(delta, kept, bias_grad, code)
        return delta

    def _goal(self, accumulate: bool) -> tuple[list[Array], list[Array]]:
        if not accumulate:
            return self.weight_grads, self.bias_grads
        if not self._part.size:
            self._part = np.zeros_like(self.grads)
            self._part_grads = layers_of(self._part, self.sizes)
        return self._part_grads

    def _activation_of(self, layer: int) -> Activation:
        return self.output if layer == len(self.sizes) - 2 else self.activation

    def _checked(self, x: NDArray[Any]) -> Views:
        """Return the views for a batch of this shape, if there can be one."""
        if x.ndim != 2 or x.shape[1] != self.sizes[0]:
            raise ValueError(f"expected an input of shape (batch, {self.sizes[0]}), not {x.shape}")
        if len(x) > self.max_batch:
            raise ValueError(f"a batch of {len(x)} does not fit max_batch={self.max_batch}")
        if len(self._views) >= _MOST_VIEWS:
            self._views.clear()
        self._views[x.shape] = views = self._viewed(len(x))
        return views

    def _viewed(self, n: int) -> Views:
        """Return the parts of the arrays that a batch of `n` rows works on."""
        layers = []
        at = 0
        for i, (fan_in, fan_out) in enumerate(pairwise(self.sizes)):
            shape = (n, fan_out)
            rows = slice(at, at + n * fan_out)
            at += self.max_batch * fan_out
            activation = self._activation_of(i)
            y = self._outputs[rows].reshape(shape)
            layers.append(
                Layer(
                    activation,
                    self.weights[i],
                    self.biases[i],
                    z=self._inputs[rows].reshape(shape) if activation.keeps_z else y,
                    y=y,
                    delta=self._back[i % 2, : n * fan_out].reshape(shape),
                    delta_before=self._back[(i - 1) % 2, : n * fan_in].reshape(n, fan_in),
                    slope=self._back[2, : n * fan_out].reshape(shape),
                )
            )
        few = 0 < n <= self._ops.FEW_ROWS
        return Views(tuple(layers), layers[-1].y, few)

    def _refuse_dtype(self, x: NDArray[Any]) -> None:
        # NumPy would take float64 without a word and convert it in every call.
        raise TypeError(
            f"expected a {self.dtype} input, not {x.dtype}: convert it once with astype"
        )
