"""Q-learning as a textbook writes it, one transition at a time."""

from typing import NamedTuple

import numpy as np


class Transition(NamedTuple):
    s_tm1: int
    a_tm1: int
    r_t: float
    s_t: int
    terminated: bool
    legal_t: tuple[int, ...] | None


def table_after(n_states, n_actions, stream, alpha, discount):
    """`alpha` is a number, or one for each transition."""
    q = np.zeros((n_states, n_actions))
    alphas = np.broadcast_to(alpha, len(stream))
    for t, alpha in zip(stream, alphas, strict=True):
        legal = range(n_actions) if t.legal_t is None else t.legal_t
        future = 0.0 if t.terminated else max((q[t.s_t, a] for a in legal), default=0.0)
        q[t.s_tm1, t.a_tm1] += alpha * (t.r_t + discount * future - q[t.s_tm1, t.a_tm1])
    return q
