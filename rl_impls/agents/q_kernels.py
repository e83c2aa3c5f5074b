"""The loss of DQN with its gradient, in compiled code."""

from __future__ import annotations

from typing import Any

from rl_impls.jit import compiled


@compiled
def argmax_rows(q: Any, best: Any) -> None:
    """best_i <- argmax_j q_ij, the first of equal ones."""
    for i in range(len(q)):
        at = 0
        for j in range(1, q.shape[1]):
            if q[i, j] > q[i, at]:
                at = j
        best[i] = at


@compiled
def q_loss(
    q_tm1: Any, a_tm1: Any, r_t: Any, q_t: Any, best_t: Any, terminated_t: Any,
    discount: float, huber: float, grad: Any,
) -> float:  # fmt: skip
    """The Huber loss of Q-learning (Mnih et al., 2015):

    L = 1/n sum_i h(q_tm1[i, a_i] - r_i - discount (1 - terminated_i) q_t[i, best_i])
    h(d) = d**2 / 2 where |d| <= huber, else huber (|d| - huber / 2)

    `q_t` is the target network's. With `best_t` the argmax of the learning network at obs_t it is
    double DQN (van Hasselt et al., 2016), which does not overrate what chance overrated.
    grad <- dL/dq_tm1.
    """
    n, n_actions = q_tm1.shape
    loss = 0.0
    for i in range(n):
        follows = 0.0 if terminated_t[i] else discount * q_t[i, best_t[i]]
        error = q_tm1[i, a_tm1[i]] - (r_t[i] + follows)
        bounded = min(max(error, -huber), huber)
        loss += bounded * (error - 0.5 * bounded)
        for j in range(n_actions):
            grad[i, j] = 0.0
        grad[i, a_tm1[i]] = bounded / n
    return float(loss / n)
