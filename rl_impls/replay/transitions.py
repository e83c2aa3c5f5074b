"""Many transitions at once, one array a field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Transitions:
    """Many transitions, one array a field; row i of every array is transition i.

    `terminated_t` alone cuts the bootstrap. A truncated transition is stored with the observation
    the episode was cut at, never with the first one of the next episode.
    """

    obs_tm1: NDArray[np.float32]  # (n, obs_size)
    a_tm1: NDArray[Any]  # int64 (n,), or continuous: float32 (n, act_size)
    r_t: NDArray[np.float32]  # (n,)
    obs_t: NDArray[np.float32]  # (n, obs_size)
    terminated_t: NDArray[np.bool_]  # (n,)

    def __post_init__(self) -> None:
        lengths = {len(array) for array in self.arrays()}
        if len(lengths) != 1:
            raise ValueError(f"every field needs the same number of rows, not {sorted(lengths)}")

    @classmethod
    def zeros(cls, n: int, obs_size: int, act_size: int = 0) -> Self:
        """`act_size` numbers an action, or without it the number of a discrete one."""
        return cls(**zeros_of(n, obs_size, act_size))

    def arrays(self) -> tuple[NDArray[Any], ...]:
        return (self.obs_tm1, self.a_tm1, self.r_t, self.obs_t, self.terminated_t)

    def columns(self) -> tuple[NDArray[Any], ...]:
        """The same memory in one form for both kinds of actions: (n, act_size) or (n, 1)."""
        actions = self.a_tm1 if self.a_tm1.ndim == 2 else self.a_tm1[:, None]
        return (self.obs_tm1, actions, self.r_t, self.obs_t, self.terminated_t)

    def __len__(self) -> int:
        return len(self.r_t)


@dataclass(frozen=True, slots=True)
class PrioritisedTransitions(Transitions):
    """Transitions that a prioritised replay drew."""

    indices: NDArray[np.int64]  # (n,), for `update`
    weights: NDArray[np.float32]  # (n,), of importance, 1 the largest

    @classmethod
    def zeros(cls, n: int, obs_size: int, act_size: int = 0) -> Self:
        return cls(
            **zeros_of(n, obs_size, act_size),
            indices=np.zeros(n, np.int64),
            weights=np.zeros(n, np.float32),
        )


def zeros_of(n: int, obs_size: int, act_size: int) -> dict[str, NDArray[Any]]:
    return {
        "obs_tm1": np.zeros((n, obs_size), np.float32),
        "a_tm1": np.zeros((n, act_size), np.float32) if act_size else np.zeros(n, np.int64),
        "r_t": np.zeros(n, np.float32),
        "obs_t": np.zeros((n, obs_size), np.float32),
        "terminated_t": np.zeros(n, np.bool_),
    }
