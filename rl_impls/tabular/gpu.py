"""Q-learning on a GPU through CuPy, and the same code on NumPy where there is none."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rl_impls.tabular.batch import BatchQLearning
from rl_impls.tabular.transitions import Transitions


def array_module() -> Any:
    """CuPy where it is installed and finds a device, else NumPy."""
    try:
        import cupy  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return np
    try:
        return cupy if cupy.cuda.runtime.getDeviceCount() > 0 else np
    except cupy.cuda.runtime.CUDARuntimeError:  # CuPy without a driver
        return np


class GPUQLearning(BatchQLearning):
    """The table lies on the device; transitions travel there a buffer at a time."""

    name: ClassVar[str] = "gpu"

    def __init__(self, n_states: int, n_actions: int, **arguments: Any) -> None:
        super().__init__(n_states, n_actions, xp=array_module(), **arguments)

    def _apply(self, batch: Transitions, alphas: NDArray[np.float64]) -> None:
        to_device = self.xp.asarray
        masks_t = None if batch.masks_t is None else to_device(batch.masks_t)
        there = Transitions(
            to_device(batch.s_tm1), to_device(batch.a_tm1), to_device(batch.r_t),
            to_device(batch.s_t), to_device(batch.terminated), masks_t,
        )  # fmt: skip
        super()._apply(there, to_device(alphas))

    def _on_host(self, array: Any) -> Any:
        return array if self.xp is np else self.xp.asnumpy(array)
