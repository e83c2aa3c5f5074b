"""Observations and rewards brought to one scale by what was seen so far, compiled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rl_impls.agents.agent import Array, State, take_over, under, with_prefix
from rl_impls.envs.control.step import Step
from rl_impls.jit import compiled

EPS: Final = 1e-8  # beside the variance
MOST: Final = 10.0  # that a number on one scale can be


@compiled
def take_in(rows: Any, count: Any, mean: Any, squares: Any) -> None:
    """Let the moments be those of these rows, too (Welford, 1962): with n in `count`,

    mean <- mean + (x - mean) / n;  squares <- squares + (x - old mean) (x - new mean)
    """
    for row in range(len(rows)):
        count[0] += 1.0
        for j in range(rows.shape[1]):
            before = rows[row, j] - mean[j]
            mean[j] += before / count[0]
            squares[j] += before * (rows[row, j] - mean[j])


@compiled
def on_one_scale(rows: Any, count: Any, mean: Any, squares: Any, out: Any) -> None:
    """out <- (x - mean) / sqrt(variance + EPS), between -MOST and MOST."""
    for j in range(rows.shape[1]):
        scale = 1.0 / math.sqrt(squares[j] / max(count[0], 1.0) + EPS)
        for row in range(len(rows)):
            out[row, j] = min(max((rows[row, j] - mean[j]) * scale, -MOST), MOST)


class RunningMoments:
    """The mean and the variance of all rows that were taken in, number by number."""

    def __init__(self, size: int) -> None:
        self.arrays: Final[State] = {
            "count": np.zeros(1), "mean": np.zeros(size), "squares": np.zeros(size),
        }  # fmt: skip

    def take_in(self, rows: Array) -> None:
        count, mean, squares = self.arrays.values()
        take_in(rows, count, mean, squares)

    def on_one_scale(self, rows: Array) -> Array:
        """Return the rows as they are by what was taken in so far, of which they may be no part."""
        out = np.empty(rows.shape, np.float32)
        count, mean, squares = self.arrays.values()
        on_one_scale(rows, count, mean, squares, out)
        return out

    @property
    def variance(self) -> Array:
        variance: Array = self.arrays["squares"] / np.maximum(self.arrays["count"], 1.0)
        return variance

    def state(self) -> State:
        return {name: array.copy() for name, array in self.arrays.items()}

    def set_state(self, state: Mapping[str, Array]) -> None:
        for name, array in self.arrays.items():
            take_over(array, state[name], name)
            if not np.isfinite(array).all() or (name != "mean" and (array < 0.0).any()):
                raise ValueError(f"{name} of no moments")


class RewardScale:
    """Divides rewards by the deviation of the discounted sums that they are part of:

        G <- discount G + r_t;  r_t / sqrt(variance of all G so far + EPS)

    between -MOST and MOST. A reward keeps its sign, for nothing is taken away.
    """

    def __init__(self, n_envs: int, discount: float) -> None:
        self.moments: Final = RunningMoments(1)
        self._discount: Final = discount
        self._sums: Final = np.zeros((n_envs, 1))

    def scaled(self, step: Step) -> Array:
        """Return the rewards of a step; sums of episodes that ended begin anew."""
        self._sums[:, 0] = self._discount * self._sums[:, 0] + step.r_t
        self.moments.take_in(self._sums if step.idle is None else self._sums[~step.idle])
        self._sums[step.terminated | step.truncated] = 0.0
        scaled = step.r_t / np.sqrt(self.moments.variance + EPS)
        return np.clip(scaled, -MOST, MOST).astype(np.float32)

    def cut(self) -> None:
        """Forget the sums: the environments begin anew."""
        self._sums[:] = 0.0

    def state(self) -> State:
        return {"sums": self._sums.copy(), **with_prefix("moments", self.moments.state())}

    def set_state(self, state: Mapping[str, Array]) -> None:
        take_over(self._sums, state["sums"], "sums")
        self.moments.set_state(under("moments", state))
