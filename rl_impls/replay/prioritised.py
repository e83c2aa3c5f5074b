"""Prioritised experience replay, proportional (Schaul et al., 2016).

With delta_i the last TD error of transition i, and of N transitions:

    p_i = |delta_i| + eps;  P(i) = p_i**alpha / sum_k p_k**alpha;  w_i = (N P(i))**-beta / max_j w_j

A batch is stratified: each of its rows comes from another of as many equal parts of the sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rl_impls.errors import SettingError
from rl_impls.replay.layout import (
    NEVER_ADDED,
    NOT_FINITE,
    PrioritisedTransitions,
    Transitions,
    empty_tree,
    sum_above,
)
from rl_impls.replay.uniform import Ring, State


class PrioritisedReplay(Ring):
    """A ring of the newest `capacity` transitions, sampled by how much they had to teach.

    An index is the number of its transition, counted from the first one ever added. So it names the
    slot and which of the transitions that lay there in turn is meant: an update for one that was
    overwritten meanwhile is dropped and never reaches the newcomer.

    New transitions enter with the largest priority there ever was. `beta` may be changed at any
    time: it usually rises to 1.
    """

    def __init__(
        self,
        capacity: int,
        obs_size: int,
        *,
        act_size: int = 0,
        batch_size: int,
        alpha: float = 0.6,
        beta: float = 0.4,
        eps: float = 1e-6,
        seed: int | None = None,
    ) -> None:
        super().__init__(capacity, obs_size, act_size=act_size, batch_size=batch_size, seed=seed)
        if not 0.0 <= alpha <= 1.0:
            raise SettingError(f"alpha lies between 0 and 1, not at {alpha}.")
        if not np.float32(eps) > 0.0:
            raise SettingError(f"eps lies above 0, not at {eps}: what has none is never drawn.")
        self.alpha: Final = alpha
        self.beta = beta
        self.eps: Final = eps
        self._batch: Final = PrioritisedTransitions.zeros(batch_size, obs_size, act_size)
        self._rows: Final = np.zeros(batch_size, np.int64)
        self._sums: Final = empty_tree(capacity)
        self._top: Final = np.ones(1, np.float64)
        # Put together once: that alone took a third of a microsecond of each sample.
        self._sampling: Final = (
            self._rows, *self._sums, np.zeros(batch_size, np.float64),
            self._batch.indices, self._batch.weights, self._ring, *self._batch.columns(),
        )  # fmt: skip

    @property
    def beta(self) -> float:
        return float(self._beta)

    @beta.setter
    def beta(self, beta: float) -> None:
        if not 0.0 <= beta <= 1.0:
            raise SettingError(f"beta lies between 0 and 1, not at {beta}.")
        # An array of no dimension: NumPy would make one of a number in every sample.
        self._beta = np.array(beta, np.float32)

    def add(
        self,
        obs_tm1: ArrayLike,
        a_tm1: ArrayLike,
        r_t: float,
        obs_t: ArrayLike,
        terminated_t: bool,
    ) -> None:
        slot = self.n_added % self.capacity
        super().add(obs_tm1, a_tm1, r_t, obs_t, terminated_t)
        self._ops.fill_tree(*self._sums, slot, slot + 1, self._top[0])

    def add_batch(self, new: Transitions) -> None:
        super().add_batch(new)
        kept = min(len(new), self.capacity)
        begin = (self.n_added - kept) % self.capacity
        until_end = min(kept, self.capacity - begin)
        for first, last in ((begin, begin + until_end), (0, kept - until_end)):
            if first < last:
                self._ops.fill_tree(*self._sums, first, last, self._top[0])

    def sample(self) -> PrioritisedTransitions:
        """Draw a batch. The next call overwrites the returned arrays: copy what has to last."""
        self._check_not_empty()
        self._ops.sample_tree(self._rng, self.n_added, *self._sampling)
        # NumPy has vector instructions for powers, and compiled code has not.
        np.power(self._batch.weights, self._beta, out=self._batch.weights)
        return self._batch

    def update(self, indices: NDArray[np.int64], td_errors: NDArray[Any]) -> int:
        """Set new priorities for transitions that `sample` drew, and return how many are still
        there.

        Of several errors for one transition the last one counts.
        """
        if len(indices) != len(td_errors):
            raise ValueError(f"{len(indices)} indices for {len(td_errors)} TD errors")
        errors = np.ascontiguousarray(td_errors, np.float32)
        nodes = self._rows if len(indices) == len(self._rows) else np.empty(len(indices), np.int64)
        n = self._ops.update_tree(
            *self._sums, self._top, self.n_added, self.capacity,
            indices, errors, self.alpha, self.eps, nodes,
        )  # fmt: skip
        if n == NOT_FINITE:
            raise ValueError("a TD error is not finite: no priority was changed")
        if n == NEVER_ADDED:
            raise ValueError("an index names no transition: use those of the sampled batch")
        return int(n)

    def priorities(self) -> NDArray[np.float64]:
        """Return p_i**alpha of each slot that holds a transition."""
        return self._leaves()[: len(self)].astype(np.float64)

    def total(self) -> float:
        """Return the root of the tree: the sum of all priorities."""
        _, tree, _ = self._sums
        return float(tree[0, 0])

    def state(self) -> State:
        return {**super().state(), "priorities": self.priorities(), "top": self._top.copy()}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().set_state(state)
        leaves, *_ = self._sums
        leaves[:] = 0.0
        self._leaves()[: len(self)] = state["priorities"]
        self._top[:] = state["top"]
        sum_above(*self._sums, np.arange(len(leaves)))

    def _leaves(self) -> NDArray[np.float32]:
        leaves, *_ = self._sums
        return leaves.reshape(-1)
