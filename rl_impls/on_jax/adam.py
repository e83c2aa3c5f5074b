"""The state of an optimiser whose steps are part of a compiled function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from rl_impls.errors import SettingError
from rl_impls.nets.optimisers import State, corrections
from rl_impls.on_jax.network import Moments
from rl_impls.schedules import Rate

BETAS: Final = (0.9, 0.999)


class CarriedAdam:
    """Saved as `nets.optimisers.Adam` is: a training can change between them."""

    def __init__(self, size: int, rate: Rate) -> None:
        self.n_steps = 0
        self.moments = Moments(jnp.zeros(size, jnp.float32), jnp.zeros(size, jnp.float32))
        self._rate: Final = rate

    def next_corrections(self, n: int) -> NDArray[np.float32]:
        """Of the next `n` steps, (n, 2), from float64: there the compiled function has float32."""
        steps = range(self.n_steps, self.n_steps + n)
        found = [corrections(self._rate.at(step), step + 1, BETAS) for step in steps]
        return np.array(found, np.float32)

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
