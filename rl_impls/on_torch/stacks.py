"""The last frames of every environment, as an agent sees them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Frames = NDArray[np.uint8]


class Stacks:
    """(n_envs, stack, *frame), the newest last. An episode begins with its first frame repeated, as
    in `replay.frames`."""

    def __init__(self, n_envs: int, stack: int, frame: tuple[int, ...]) -> None:
        self.seen: Final[Frames] = np.zeros((n_envs, stack, *frame), np.uint8)
        self._begins: Final = np.ones(n_envs, np.bool_)

    def push(self, frames: Frames) -> Frames:
        """What is seen now."""
        self.seen[:, :-1] = self.seen[:, 1:]
        self.seen[:, -1] = frames
        for row in np.flatnonzero(self._begins):
            self.seen[row] = frames[row]
        self._begins[:] = False
        return self.seen

    def end(self, ended: NDArray[np.bool_]) -> None:
        """The next frames of these belong to other episodes."""
        np.logical_or(self._begins, ended, out=self._begins)
