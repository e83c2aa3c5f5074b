"""Gradient descent over flat arrays, a pass for a step.

An optimiser belongs to one array of parameters and one of gradients, usually `params` and `grads`
of an `MLP`, and asks its learning rate for the value at each of its steps. `state` and `set_state`
carry it over into another process: training goes on to the same parameters, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from rl_impls.errors import SettingError
from rl_impls.nets import fastest
from rl_impls.schedules import Constant, Rate

State = dict[str, NDArray[Any]]


class Optimiser(Protocol):
    """Steps down a gradient; an agent asks for no more, whatever the steps are computed with."""

    n_steps: int

    def state(self) -> State: ...

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None: ...


class SGD:
    """v_t = momentum v_tm1 + g_t;  w_t = w_tm1 - rate v_t"""

    def __init__(
        self,
        params: NDArray[Any],
        grads: NDArray[Any],
        *,
        rate: Rate | float = 1e-2,
        momentum: float = 0.0,
    ) -> None:
        _check_arrays(params, grads)
        if not 0.0 <= momentum < 1.0:
            raise SettingError(f"momentum lies between 0 and 1, not at {momentum}.")
        self.rate: Final = _rate(rate)
        self.n_steps = 0
        self._params, self._grads = params, grads
        self._velocity = np.zeros_like(params)
        self._constants = np.array([momentum, 0.0], params.dtype)
        self._step: Final = fastest().momentum

    def step(self) -> None:
        self._constants[1] = self.rate.at(self.n_steps)
        self._step(self._params, self._grads, self._velocity, self._constants)
        self.n_steps += 1

    def state(self) -> State:
        return {"n_steps": np.array(self.n_steps), "velocity": self._velocity.copy()}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        _restore(state, velocity=self._velocity)
        self.n_steps = int(state["n_steps"])


class Adam:
    """Adam (Kingma & Ba, 2015). With g_t the gradient at step t = 1, 2, ...:

    m_t = beta_1 m_tm1 + (1 - beta_1) g_t
    s_t = beta_2 s_tm1 + (1 - beta_2) g_t**2
    w_t = w_tm1 - rate (m_t / (1 - beta_1**t)) / (sqrt(s_t / (1 - beta_2**t)) + eps)
    """

    def __init__(
        self,
        params: NDArray[Any],
        grads: NDArray[Any],
        *,
        rate: Rate | float = 3e-4,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        _check_arrays(params, grads)
        if not all(0.0 <= beta < 1.0 for beta in betas):
            raise SettingError(f"betas lie between 0 and 1, not at {betas[0]} and {betas[1]}.")
        if not eps > 0.0:
            raise SettingError(f"eps lies above 0, not at {eps}.")
        self.rate: Final = _rate(rate)
        self.betas: Final = betas
        self.n_steps = 0
        self._params, self._grads = params, grads
        self._mean = np.zeros_like(params)
        self._square = np.zeros_like(params)
        beta_1, beta_2 = betas
        self._constants = np.array(
            [beta_1, 1.0 - beta_1, beta_2, 1.0 - beta_2, 0.0, 0.0, eps], params.dtype
        )
        self._step: Final = fastest().adam

    def step(self) -> None:
        rate = self.rate.at(self.n_steps)
        self.n_steps += 1
        self._constants[4:6] = corrections(rate, self.n_steps, self.betas)
        self._step(self._params, self._grads, self._mean, self._square, self._constants)

    def state(self) -> State:
        return {
            "n_steps": np.array(self.n_steps),
            "mean": self._mean.copy(),
            "square": self._square.copy(),
        }

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        _restore(state, mean=self._mean, square=self._square)
        self.n_steps = int(state["n_steps"])


def corrections(rate: float, t: int, betas: tuple[float, float]) -> tuple[float, float]:
    """Return rate / (1 - beta_1**t) and 1 / sqrt(1 - beta_2**t): of a step, not of each
    parameter."""
    return rate / (1.0 - betas[0] ** t), 1.0 / math.sqrt(1.0 - betas[1] ** t)


def _rate(rate: Rate | float) -> Rate:
    return Constant(rate, "step") if isinstance(rate, int | float) else rate


def _check_arrays(params: NDArray[Any], grads: NDArray[Any]) -> None:
    if params.ndim != 1 or params.shape != grads.shape or params.dtype != grads.dtype:
        raise SettingError(
            "parameters and gradients are flat arrays of one size and type, not "
            f"{params.dtype} {params.shape} and {grads.dtype} {grads.shape}."
        )
    if not (params.flags.carray and grads.flags.carray):
        raise SettingError("parameters and gradients lie in one piece each and can be written.")


def _restore(state: Mapping[str, NDArray[Any]], **arrays: NDArray[Any]) -> None:
    """Copy into the arrays, if all of them fit."""
    given = {name: _fitting(name, state.get(name), array) for name, array in arrays.items()}
    for name, array in arrays.items():
        array[:] = given[name]


def _fitting(name: str, given: NDArray[Any] | None, array: NDArray[Any]) -> NDArray[Any]:
    with suppress(TypeError, FloatingPointError), np.errstate(over="raise"):
        if given is not None and given.shape == array.shape:
            return given.astype(array.dtype, casting="same_kind")
    raise SettingError(
        f"this state is not that of an optimiser of {array.size} parameters: {name} is missing, of "
        "another size, or holds no real numbers of its range."
    )


def clip_by_norm(grads: NDArray[Any], most: float = 0.5) -> float:
    """g <- g min(1, most / |g|), in place; returns |g| before (Pascanu et al., 2013).

    A gradient that is not finite stays what it is, and so is the norm that is returned.
    """
    if not most > 0.0:
        raise SettingError(f"the norm to clip to lies above 0, not at {most}.")
    norm = norm_of(grads)
    if most < norm < math.inf:
        grads *= most / norm
    return norm


def norm_of(grads: NDArray[Any]) -> float:
    """Return |g|; it is finite where all of g is."""
    with np.errstate(over="ignore"):
        norm = math.sqrt(np.dot(grads, grads))
    if math.isinf(norm):  # the squares may be too large for float32 where their root is not
        norm = float(np.linalg.norm(grads.astype(np.float64)))
    return norm


class Polyak:
    """w' <- w' + tau (w - w'): a target network that follows slowly (Lillicrap et al., 2016)."""

    def __init__(self, target: NDArray[Any], source: NDArray[Any], tau: float = 0.005) -> None:
        if not 0.0 <= tau <= 1.0:
            raise SettingError(f"tau lies between 0 and 1, not at {tau}.")
        self._target, self._source = target, source
        self._constants = np.array([tau], target.dtype)
        self._towards = fastest().towards

    def step(self) -> None:
        self._towards(self._target, self._source, self._constants)


# Losses as means over a batch, with the gradient that `MLP.backward` takes.
#
# The mean is taken here, once: each row's part of the gradient is divided by the number of rows.
# Where a batch comes in parts, `rows` is the number of rows of all of them, and losses and
# gradients of the parts add up to those of the whole.


def mean_squared(
    y: NDArray[Any], target: NDArray[Any], grad: NDArray[Any], *, rows: int | None = None
) -> float:
    """L = 1/n sum_i |y_i - target_i|**2;  grad <- dL/dy = 2 (y - target) / n"""
    n = rows or len(y)
    np.subtract(y, target, out=grad)
    loss = float(np.dot(grad.ravel(), grad.ravel())) / n
    grad *= 2.0 / n
    return loss


def mean_huber(
    y: NDArray[Any], target: NDArray[Any], grad: NDArray[Any], *, rows: int | None = None
) -> float:
    """L = 1/n sum_ij h(y_ij - target_ij);  grad <- dL/dy = clip(y - target, -1, 1) / n

    Huber (1964):
    h(d) = d**2 / 2 where |d| <= 1, else |d| - 1/2, which is c (d - c / 2) with c = clip(d, -1, 1).
    """
    n = rows or len(y)
    difference = y - target
    np.clip(difference, -1.0, 1.0, out=grad)
    difference -= 0.5 * grad
    loss = float(np.dot(difference.ravel(), grad.ravel())) / n
    grad *= 1.0 / n
    return loss
