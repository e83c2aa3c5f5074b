"""The losses of DQN and QR-DQN with their gradients, in compiled code."""

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


@compiled
def mean_quantiles(z: Any, q: Any) -> None:
    """q_ij <- 1/m sum_k z[i, j m + k]: the value of an action is the mean of its quantiles."""
    n, n_actions = q.shape
    m = z.shape[1] // n_actions
    for i in range(n):
        for j in range(n_actions):
            total = 0.0
            for k in range(m):
                total += z[i, j * m + k]
            q[i, j] = total / m


@compiled
def quantile_huber_loss(
    z_tm1: Any, a_tm1: Any, r_t: Any, z_t: Any, best_t: Any, terminated_t: Any,
    discount: float, huber: float, taus: Any, losses: Any, grad: Any,
) -> float:  # fmt: skip
    """Quantile regression (Dabney et al., 2018, equation 10), m quantiles an action:

    L = 1/n sum_i sum_k 1/m sum_l |tau_k - [u < 0]| h(u) / huber
    u = r_i + discount (1 - terminated_i) z_t[i, best_i, l] - z_tm1[i, a_i, k]

    with h as in `q_loss` and tau_k = (k + 1/2) / m in `taus`; `losses` is room for m numbers.
    grad <- dL/dz_tm1. The inner loop runs over k, where the sums do not wait for each other.
    """
    n = len(z_tm1)
    m = len(taus)
    number = z_tm1.dtype.type
    zero, half, one, bound = number(0.0), number(0.5), number(1.0), number(huber)
    scale = number(1.0 / (n * m * huber))
    gamma = number(discount)
    losses[:] = zero
    grad[:] = zero
    for i in range(n):
        mine = z_tm1[i, a_tm1[i] * m : (a_tm1[i] + 1) * m]
        slopes = grad[i, a_tm1[i] * m : (a_tm1[i] + 1) * m]
        keep = zero if terminated_t[i] else gamma
        for at in range(best_t[i] * m, (best_t[i] + 1) * m):
            target = r_t[i] + keep * z_t[i, at]
            for k in range(m):
                u = target - mine[k]
                bounded = min(max(u, -bound), bound)
                weight = one - taus[k] if u < zero else taus[k]
                slopes[k] -= weight * bounded * scale
                losses[k] += weight * bounded * (u - half * bounded)
    loss = 0.0
    for k in range(m):
        loss += losses[k]
    return float(loss / (n * m * huber))
