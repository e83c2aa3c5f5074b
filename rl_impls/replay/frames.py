"""Replay of stacked frames that keeps each frame once, as the bytes it came in.

Frames lie in a ring in the order they were seen, the last one of an episode included. What an
agent sees at step n is the stack of frames n - stack + 1 to n, and what it sees next the stack one
further. An observation is put together when it is drawn. Kept as float32 and stacked, four frames
of a step and its successor would take 32 times the memory.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rl_impls.errors import SettingError
from rl_impls.splitmix import drawn, streams

Frames = NDArray[np.uint8]
Numbers = NDArray[np.int64]


class FrameTransitions(NamedTuple):
    """Many transitions, one array a field."""

    obs_tm1: Frames  # (n, stack, *frame)
    a_tm1: NDArray[np.int64]
    r_t: NDArray[np.float32]
    obs_t: Frames  # (n, stack, *frame)
    terminated_t: NDArray[np.bool_]
    indices: Numbers  # frames are counted from the first one ever added


class FrameReplay:
    """The newest `capacity` frames of one environment, sampled uniformly with replacement.

    A transition can be drawn when the frame after it is there, and all frames before it that its
    stack shows. Before an episode's first frame the stack repeats that one.
    """

    def __init__(
        self,
        capacity: int,
        frame_shape: tuple[int, ...],
        *,
        stack: int = 4,
        batch_size: int,
        seed: int | None = None,
    ) -> None:
        if stack < 1 or batch_size < 1 or capacity < stack + 1:
            raise SettingError(
                "stack and batch_size are at least 1 and capacity at least stack + 1, "
                f"not {stack}, {batch_size} and {capacity}."
            )
        self.capacity: Final = capacity
        self.stack: Final = stack
        self.n_added = 0  # frames
        self._frames: Final[Frames] = np.zeros((capacity, *frame_shape), np.uint8)
        self._a: Final = np.zeros(capacity, np.int64)
        self._r: Final = np.zeros(capacity, np.float32)
        self._terminated: Final = np.zeros(capacity, np.bool_)
        # How many frames of its episode came before each, up to those that a stack can show.
        self._age: Final = np.zeros(capacity, np.int64)
        # The last frame of an episode: nothing was done there.
        self._is_last: Final = np.ones(capacity, np.bool_)
        self._next_age = 0
        self._rng: Final = streams(seed, 1)
        self._back: Final = np.arange(stack - 1, -1, -1)
        shape = (batch_size, stack, *frame_shape)
        self._obs: Final = (np.zeros(shape, np.uint8), np.zeros(shape, np.uint8))
        self._batch_size: Final = batch_size

    @property
    def nbytes(self) -> int:
        """The bytes of all that is kept for each frame."""
        kept = (self._frames, self._a, self._r, self._terminated, self._age, self._is_last)
        return sum(array.nbytes for array in kept)

    def add(self, frame: Frames, a_tm1: int, r_t: float, terminated_t: bool) -> None:
        """Add what was seen, what was done there, and what that gave."""
        slot = self._put(frame)
        self._a[slot], self._r[slot], self._terminated[slot] = a_tm1, r_t, terminated_t
        self._is_last[slot] = False

    def end(self, frame: Frames) -> None:
        """Add the last frame of an episode, however it ended; the next one begins another."""
        self._is_last[self._put(frame)] = True
        self._next_age = 0

    def _put(self, frame: Frames) -> int:
        slot = self.n_added % self.capacity
        self._frames[slot] = frame
        self._age[slot] = self._next_age
        self._next_age = min(self._next_age + 1, self.stack - 1)
        self.n_added += 1
        return slot

    def can_draw(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Tell whether these frames begin a transition of which all can be shown."""
        slots = numbers % self.capacity
        oldest = max(0, self.n_added - self.capacity)
        whole = (numbers - self._age[slots] >= oldest) & (numbers < self.n_added - 1)
        return np.asarray(whole & ~self._is_last[slots])

    def sample(self) -> FrameTransitions:
        """Draw a batch. The next call overwrites the observations: copy what has to last."""
        numbers = self._draw()
        slots = numbers % self.capacity
        for obs, shown in zip(self._obs, (numbers, numbers + 1), strict=True):
            # Not before the first frame of the episode.
            back = np.minimum(self._back, self._age[shown % self.capacity][:, None])
            wanted = (shown[:, None] - back) % self.capacity
            np.take(self._frames, wanted, axis=0, out=obs, mode="clip")
        return FrameTransitions(
            self._obs[0], self._a[slots], self._r[slots], self._obs[1], self._terminated[slots],
            numbers,
        )  # fmt: skip

    def _draw(self) -> Numbers:
        oldest = max(0, self.n_added - self.capacity)
        n = self.n_added - oldest
        # One that cannot be shown is drawn again: all others stay equally likely.
        drawn_parts: list[Any] = []
        missing = self._batch_size
        while missing:
            numbers = oldest + (drawn(self._rng, 2 * missing) * n).astype(np.int64)
            good = numbers[self.can_draw(numbers)][:missing]
            if not len(good) and not self.can_draw(np.arange(oldest, self.n_added)).any():
                raise ValueError("no transition is whole yet: add more frames before sampling")
            drawn_parts.append(good)
            missing -= len(good)
        return np.concatenate(drawn_parts)
