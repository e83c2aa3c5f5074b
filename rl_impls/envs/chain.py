"""A chain of states with a temptation near and a prize far away."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

LEFT: Final = 0
RIGHT: Final = 1


class ChainEnv:
    """States 0 … n-1 in a row; an episode starts at 0 and terminates at n-1 with a reward of 1.

    LEFT at state 0 stays there and pays `temptation`, every other move pays nothing. A move fails
    with probability `slip`: the state stays as it is and nothing is paid. The calling convention is
    Gymnasium's; the package is not needed.
    """

    n_actions: Final = 2

    def __init__(
        self,
        n_states: int = 8,
        *,
        slip: float = 0.1,
        temptation: float = 0.01,
        max_steps: int = 100,
    ) -> None:
        if n_states < 2:
            raise ValueError(f"a chain needs at least 2 states, not {n_states}")
        if not 0.0 <= slip < 1.0:
            raise ValueError(f"slip is a probability below 1, not {slip}")
        if max_steps < 1:
            raise ValueError(f"an episode needs at least 1 step, not {max_steps}")
        self.n_states: Final = n_states
        self.slip: Final = slip
        self.temptation: Final = temptation
        self.max_steps: Final = max_steps
        self._rng = np.random.default_rng()
        self._state = 0
        self._n_steps = 0
        self._running = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Begin an episode. Without a seed the stream of chance goes on where it was."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._state = 0
        self._n_steps = 0
        self._running = True
        return self._state, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Return (state, reward, terminated, truncated, info)."""
        if not self._running:
            raise RuntimeError("no episode is running: call reset() first")
        if action not in (LEFT, RIGHT):
            raise ValueError(f"the actions are {LEFT} (left) and {RIGHT} (right), not {action!r}")
        reward = 0.0
        if self._rng.random() >= self.slip:
            if action == RIGHT:
                self._state += 1
            elif self._state > 0:
                self._state -= 1
            else:
                reward = self.temptation
        self._n_steps += 1
        terminated = self._state == self.n_states - 1
        if terminated:
            reward = 1.0
        truncated = not terminated and self._n_steps >= self.max_steps
        self._running = not (terminated or truncated)
        return self._state, reward, terminated, truncated, {}
