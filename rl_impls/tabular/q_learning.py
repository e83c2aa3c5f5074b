"""One-step Q-learning on a table (Watkins & Dayan, 1992; Sutton & Barto, 2nd ed., eq. 6.8)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray


def q_learning_error(
    q_tm1: NDArray[np.float64], a_tm1: int, r_t: float, discount_t: float, q_t: NDArray[np.float64]
) -> float:
    """The temporal-difference error r_t + discount_t * max_a q_t[a] - q_tm1[a_tm1].

    `q_tm1` and `q_t` are the rows of the table before and after the transition.
    """
    return float(r_t + discount_t * q_t.max() - q_tm1[a_tm1])


class QLearner:
    """Acts epsilon-greedily on a table of action values and learns it one transition at a time."""

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        *,
        step_size: float = 0.1,
        discount: float = 0.95,
        epsilon: float = 0.1,
        seed: int | None = None,
    ) -> None:
        if n_states < 1 or n_actions < 1:
            raise ValueError(f"a table needs states and actions, not {n_states} and {n_actions}")
        for name, value in (("step_size", step_size), ("discount", discount), ("epsilon", epsilon)):
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"{name} lies between 0 and 1, not at {value}")
        self.q: Final[NDArray[np.float64]] = np.zeros((n_states, n_actions))
        self.step_size: Final = step_size
        self.discount: Final = discount
        self.epsilon: Final = epsilon
        self._rng = np.random.default_rng(seed)

    def act(self, s_t: int) -> int:
        """With probability epsilon any action, otherwise a best one; ties fall to chance."""
        q_t = self.q[s_t]
        if self._rng.random() < self.epsilon:
            return int(self._rng.integers(q_t.size))
        # The first maximum alone would walk one way for ever on a fresh table.
        best = np.flatnonzero(q_t == q_t.max())
        return int(best[0] if best.size == 1 else best[self._rng.integers(best.size)])

    def greedy(self, s_t: int) -> int:
        """The best action without exploring, the first of equals."""
        return int(self.q[s_t].argmax())

    def learn(self, s_tm1: int, a_tm1: int, r_t: float, s_t: int, *, terminated: bool) -> float:
        """Move one entry towards its target; return the error before the move.

        Only a terminated episode has no future. A truncated one was cut by the clock: its last
        transition bootstraps like any other, so `truncated` is not asked for.
        """
        q_tm1 = self.q[s_tm1]
        discount_t = 0.0 if terminated else self.discount
        error = q_learning_error(q_tm1, a_tm1, r_t, discount_t, self.q[s_t])
        q_tm1[a_tm1] += self.step_size * error
        return error
