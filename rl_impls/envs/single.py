"""One environment over a model, with Gymnasium's interface."""

from __future__ import annotations

import random
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from rl_impls.envs.model import DRAW_BITS, Model
from rl_impls.errors import IllegalAction

# An illegal action ends the episode as a loss where it stands: an agent that ignores the mask still
# finishes its episodes.
FORFEIT: Final = -1.0


class ModelEnv(gymnasium.Env[np.int64, np.int64]):
    """Plays a model's rules. `info["action_mask"]` holds 1 for each legal action.

    A seed begins a stream of chance, and a reset without one goes on with it: equal seeds give
    equal episodes, and the episodes that follow one another differ.
    """

    def __init__(self, model: Model, *, render_mode: str | None = None) -> None:
        self.model = model
        self.render_mode = render_mode
        self.observation_space = Discrete(model.n_states)
        self.action_space = Discrete(model.n_actions)
        self.state = 0
        self.running = False
        # Python's generator: a draw costs a tenth of what NumPy asks for a single number.
        self.chance = random.Random()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.chance.seed(seed)
        self.state = self.model.reset(self.chance.getrandbits(DRAW_BITS))
        self.running = True
        return self.state, self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        state, reward, terminated = self.play(action)
        return state, reward, terminated, False, self._info()

    def play(self, action: int) -> tuple[int, float, bool]:
        """A step without what Gymnasium adds to it: (state, reward, terminated)."""
        if not self.running:
            raise IllegalAction("no episode is running: call reset() first.")
        if action in self.model.legal[self.state]:
            draw = self.chance.getrandbits(DRAW_BITS)
            self.state, reward, terminated = self.model.step(self.state, action, draw)
        else:
            reward, terminated = FORFEIT, True
        self.running = not terminated
        return self.state, reward, terminated

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.model.masks[self.state].astype(np.int8)}

    def place(self, state: int, *, running: bool) -> None:
        """Go on from here: what played the model itself hands the episode back."""
        self.state = state
        self.running = running
