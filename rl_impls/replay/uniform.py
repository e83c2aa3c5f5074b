"""A ring of the newest transitions, in arrays that are allocated once, and uniform replay of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rl_impls.errors import SettingError
from rl_impls.replay import fastest
from rl_impls.replay.layout import Transitions, row_type, rows_and_fields
from rl_impls.splitmix import streams

if TYPE_CHECKING:
    from rl_impls.envs.control.step import Step

__all__ = ["Ring", "State", "Transitions", "UniformReplay"]

State = dict[str, NDArray[Any]]


class Ring:
    """A ring of the newest `capacity` transitions; what is drawn from it is up to the subclass.

    Transitions are numbered in the order they came, and number n lies in slot n % capacity.
    """

    def __init__(
        self,
        capacity: int,
        obs_size: int,
        *,
        act_size: int = 0,
        batch_size: int,
        seed: int | None = None,
    ) -> None:
        if capacity < 1 or obs_size < 1 or batch_size < 1 or act_size < 0:
            raise SettingError(
                "capacity, obs_size and batch_size are at least 1, "
                f"not {capacity}, {obs_size} and {batch_size}; act_size is 0 or more, "
                f"not {act_size}."
            )
        self.capacity: Final = capacity
        self.n_added = 0
        try:
            self._ring, self._store = rows_and_fields(capacity, obs_size, act_size)
        except MemoryError as error:
            needed = capacity * row_type(obs_size, act_size).itemsize / 1e9
            raise SettingError(
                f"a replay of {capacity:,} rows with observations of {obs_size:,} numbers needs "
                f"{needed:.1f} GB, more than there is: choose a smaller buffer."
            ) from error
        self._rng: Final = streams(seed, 1)
        self._ops: Final = fastest()

    def __len__(self) -> int:
        return min(self.n_added, self.capacity)

    def add(
        self,
        obs_tm1: ArrayLike,
        a_tm1: ArrayLike,
        r_t: float,
        obs_t: ArrayLike,
        terminated_t: bool,
    ) -> None:
        """Store one transition; it overwrites the oldest one of a full ring."""
        slot = self.n_added % self.capacity
        store = self._store
        store.obs_tm1[slot] = obs_tm1
        store.a_tm1[slot] = a_tm1
        store.r_t[slot] = r_t
        store.obs_t[slot] = obs_t
        store.terminated_t[slot] = terminated_t
        self.n_added += 1

    def add_batch(self, new: Transitions) -> None:
        """Store transitions, oldest first; they overwrite the oldest ones in the ring."""
        columns = tuple(
            np.ascontiguousarray(rows, ring.dtype)
            for ring, rows in zip(self._store.columns(), new.columns(), strict=True)
        )
        self._check_widths(columns)
        # More than a ring full: only the newest can stay.
        skip = max(0, len(new) - self.capacity)
        begin = (self.n_added + skip) % self.capacity
        self._ops.put(self._ring, begin, skip, *columns)
        self.n_added += len(new)

    def add_step(self, step: Step, a_tm1: NDArray[Any]) -> None:
        """Store a step of a batch of environments, each row with where it led, `obs_t`: a truncated
        episode has a value there. What only began an episode is no transition."""
        if (idle := step.idle) is not None:
            step, a_tm1 = step.only(~idle), a_tm1[~idle]
            if not len(a_tm1):
                return
        if len(a_tm1) == 1:  # without a look at each array, which costs more than one row
            self.add(step.obs_tm1[0], a_tm1[0], step.r_t[0], step.obs_t[0], step.terminated[0])
            return
        self.add_batch(Transitions(step.obs_tm1, a_tm1, step.r_t, step.obs_t, step.terminated))

    def state(self) -> State:
        """Return all it holds, and where its chance stands, as plain arrays."""
        size = len(self)
        fields = zip(Transitions.__slots__, self._store.arrays(), strict=True)
        return {
            "n_added": np.array(self.n_added),
            "rng": self._rng.copy(),
            **{name: array[:size].copy() for name, array in fields},
        }

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a state of a ring of the same capacity and sizes."""
        size = min(int(state["n_added"]), self.capacity)
        fields = zip(Transitions.__slots__, self._store.arrays(), strict=True)
        places = {"rng": self._rng, **{name: array[:size] for name, array in fields}}
        for name, place in places.items():
            if state[name].shape != place.shape or state[name].dtype != place.dtype:
                raise SettingError(
                    f"this state is that of another replay: {name} is {state[name].dtype} "
                    f"{state[name].shape}, not {place.dtype} {place.shape}."
                )
        for name, place in places.items():
            place[...] = state[name]
        self.n_added = int(state["n_added"])

    def _check_widths(self, columns: tuple[NDArray[Any], ...]) -> None:
        for ring, rows in zip(self._store.columns(), columns, strict=True):
            if rows.shape[1:] != ring.shape[1:]:
                want = ", ".join(["n", *map(str, ring.shape[1:])])
                raise ValueError(f"expected transitions of shape ({want}), not {rows.shape}")

    def _check_not_empty(self) -> None:
        if self.n_added == 0:
            raise ValueError("the replay buffer is empty: add transitions before sampling")


class UniformReplay(Ring):
    """A ring of the newest `capacity` transitions, drawn uniformly with replacement (Lin, 1992)."""

    def __init__(
        self,
        capacity: int,
        obs_size: int,
        *,
        act_size: int = 0,
        batch_size: int,
        seed: int | None = None,
    ) -> None:
        super().__init__(capacity, obs_size, act_size=act_size, batch_size=batch_size, seed=seed)
        self._batch: Final = Transitions.zeros(batch_size, obs_size, act_size)
        self._out: Final = self._batch.columns()
        self._rows: Final = np.zeros(batch_size, np.int64)

    def add_rows(self, rows: NDArray[np.float32]) -> None:
        """Store transitions that lie in memory as `layout` says, oldest first."""
        kept = rows[max(0, len(rows) - self.capacity) :]
        self.n_added += len(rows)
        begin = (self.n_added - len(kept)) % self.capacity
        first = min(len(kept), self.capacity - begin)
        self._ring[begin : begin + first] = kept[:first]
        self._ring[: len(kept) - first] = kept[first:]

    def sample(self) -> Transitions:
        """Draw a batch. The next call overwrites the returned arrays: copy what has to last."""
        self._check_not_empty()
        self._ops.sample(self._rng, len(self), self._rows, self._ring, *self._out)
        return self._batch
