"""The squashed Gaussian of SAC and its losses with their gradients, in compiled code."""

from __future__ import annotations

import math
from typing import Any, Final

from rl_impls.jit import compiled

# Bounds of log sigma: beyond them a policy is deterministic, or of no use.
LOG_STD_LOW: Final = -20.0
LOG_STD_HIGH: Final = 2.0
_LOG_2: Final = math.log(2.0)
_HALF_LOG_2_PI: Final = 0.5 * math.log(2.0 * math.pi)


@compiled
def squashed_gaussian(out: Any, noise: Any, actions: Any, log_probs: Any) -> None:
    """a = tanh(u), u = mu + sigma eps (Haarnoja et al., 2018, appendix C), with

    log pi(a) = sum_j [-eps_j**2 / 2 - log sigma_j - log(2 pi) / 2 - log(1 - tanh(u_j)**2)]

    `out` is (n, 2 act_size): mu, then log sigma. 1 - tanh(u)**2 is 0 in floating point from u = 9
    on; its logarithm is taken as 2 (log 2 - u - log(1 + exp(-2 u))).
    """
    n, size = noise.shape
    for i in range(n):
        log_prob = 0.0
        for j in range(size):
            log_std = min(max(out[i, size + j], LOG_STD_LOW), LOG_STD_HIGH)
            eps = noise[i, j]
            u = out[i, j] + math.exp(log_std) * eps
            actions[i, j] = math.tanh(u)
            softplus = max(-2.0 * u, 0.0) + math.log1p(math.exp(-abs(2.0 * u)))
            log_slope = 2.0 * (_LOG_2 - u - softplus)
            log_prob -= 0.5 * eps * eps + log_std + _HALF_LOG_2_PI + log_slope
        log_probs[i] = log_prob


@compiled
def soft_targets(
    r_t: Any, terminated_t: Any, q_1: Any, q_2: Any, log_probs: Any,
    discount: float, alpha: float, targets: Any,
) -> None:  # fmt: skip
    """y = r_t + discount (1 - terminated_t) (min(q_1, q_2) - alpha log pi), all at obs_t."""
    for i in range(len(r_t)):
        soft = min(q_1[i, 0], q_2[i, 0]) - alpha * log_probs[i]
        targets[i] = r_t[i] + (0.0 if terminated_t[i] else discount * soft)


@compiled
def critic_loss(q_tm1: Any, targets: Any, grad: Any) -> float:
    """L = 1/(2 n) sum_i (q_i - y_i)**2;  grad <- dL/dq"""
    n = len(targets)
    loss = 0.0
    for i in range(n):
        error = q_tm1[i, 0] - targets[i]
        loss += 0.5 * error * error
        grad[i, 0] = error / n
    return loss / n


@compiled
def smaller_critic(q_1: Any, q_2: Any, grad_1: Any, grad_2: Any) -> float:
    """L = -1/n sum_i min(q_1, q_2);  grad <- dL/dq of each. Returns -L."""
    n = len(q_1)
    total = 0.0
    for i in range(n):
        first = q_1[i, 0] <= q_2[i, 0]
        total += q_1[i, 0] if first else q_2[i, 0]
        grad_1[i, 0] = -1.0 / n if first else 0.0
        grad_2[i, 0] = 0.0 if first else -1.0 / n
    return total / n


@compiled
def actor_gradient(
    out: Any, noise: Any, actions: Any, grad_x_1: Any, grad_x_2: Any, alpha: float, grad: Any
) -> None:
    """grad <- dL/dout of L = 1/n sum_i [alpha log pi(a_i) - min(q_1, q_2)(obs_i, a_i)].

    `grad_x_1` and `grad_x_2` are what `smaller_critic` gives at the critics' inputs, actions last.
    By u: dL/du = dL/da (1 - a**2) + 2 alpha a / n, since -log(1 - tanh(u)**2) grows by 2 tanh(u);
    then dmu = dL/du and dlog sigma = dL/du sigma eps - alpha / n, nothing beyond its bounds.
    """
    n, size = noise.shape
    first = grad_x_1.shape[1] - size
    for i in range(n):
        for j in range(size):
            a = actions[i, j]
            by_action = grad_x_1[i, first + j] + grad_x_2[i, first + j]
            by_u = by_action * (1.0 - a * a) + 2.0 * alpha * a / n
            log_std = out[i, size + j]
            grad[i, j] = by_u
            inside = LOG_STD_LOW <= log_std <= LOG_STD_HIGH
            by_std = by_u * math.exp(log_std) * noise[i, j] - alpha / n if inside else 0.0
            grad[i, size + j] = by_std
