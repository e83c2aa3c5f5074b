"""What DQN that learns from frames is told; torch computes it: `on_torch.pixel_dqn`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rl_impls.agents.dqn import DQNSettings
from rl_impls.agents.settings import at_least
from rl_impls.errors import SettingError

PIXEL_DQN: Final = "pixel-dqn"


@dataclass(frozen=True, slots=True)
class PixelSettings(DQNSettings):
    """An update has the gradient of `accumulate` times `batch` rows, and the memory of `batch`:
    4 times 512 learns as from 2048."""

    hidden: tuple[int, ...] = (512,)
    buffer: int = 50_000  # frames
    batch: int = 32
    accumulate: int = 1
    stack: int = 4
    target_every: int = 1000
    huber: float = 1.0

    def check(self) -> None:
        DQNSettings.check(self)
        at_least(1, accumulate=self.accumulate, stack=self.stack)
        at_least(2, learning_starts=self.learning_starts)  # a transition has two frames
        if len(self.hidden) != 1:
            raise SettingError("behind the convolutions there is 1 hidden layer: name its width.")
