"""The losses of PPO with their gradients, and what moves its experience, in compiled code."""

from __future__ import annotations

import math
from typing import Any

from rl_impls.jit import compiled


@compiled
def store_step(
    t: int, obs_tm1: Any, r_t: Any, terminated: Any, truncated: Any,
    all_obs: Any, all_r: Any, all_terminated: Any, all_ended: Any,
) -> bool:  # fmt: skip
    """Copy a step to row `t`; whether an episode was cut that could have gone on."""
    cut = False
    for row in range(len(r_t)):
        for j in range(obs_tm1.shape[1]):
            all_obs[t, row, j] = obs_tm1[row, j]
        all_r[t, row] = r_t[row]
        all_terminated[t, row] = terminated[row]
        all_ended[t, row] = terminated[row] or truncated[row]
        cut = cut or (truncated[row] and not terminated[row])
    return cut


@compiled
def minibatch_moments(order: Any, size: int, values: Any, moments: Any) -> None:
    """Of these values at each `size` rows of the order in turn, the last of which may be fewer:

    moments_k <- n, m = 1/n sum_i v_i, sum_i (v_i - m)**2
    """
    for k in range(len(moments)):
        rows = order[k * size : (k + 1) * size]
        mean = 0.0
        for row in rows:
            mean += values[row]
        mean /= len(rows)
        square = 0.0
        for row in rows:
            square += (values[row] - mean) ** 2
        moments[k, 0] = len(rows)
        moments[k, 1] = mean
        moments[k, 2] = square


@compiled
def gather_minibatch(
    rows: Any, obs: Any, actions: Any, log_probs: Any, advantages: Any, values: Any, moments: Any,
    to_obs: Any, to_actions: Any, to_log_probs: Any, to_advantages: Any, to_returns: Any,
) -> None:  # fmt: skip
    """These rows of the experience, their advantages brought to mean 0 and deviation 1 by the
    moments of the whole minibatch, of which they may be a part.

    Returns are R = A + v, the target of TD(lambda).
    """
    n, mean, square = moments[0], moments[1], moments[2]
    # One row alone has no deviation: what is left of it is 0.
    scale = 1.0 / (math.sqrt(square / max(n - 1.0, 1.0)) + 1e-8)
    for i in range(len(rows)):
        row = rows[i]
        for j in range(obs.shape[1]):
            to_obs[i, j] = obs[row, j]
        to_actions[i] = actions[row]
        to_log_probs[i] = log_probs[row]
        to_advantages[i] = (advantages[row] - mean) * scale
        to_returns[i] = advantages[row] + values[row]


@compiled
def clipped_policy_loss(
    logits: Any, a_tm1: Any, old_log_probs: Any, advantages: Any,
    clip: float, entropy_weight: float, grad: Any,
) -> tuple[float, float]:  # fmt: skip
    """The clipped surrogate (Schulman et al., 2017, equation 7) with an entropy bonus:

    L = -1/n sum_i [min(w_i A_i, clip(w_i, 1 - clip, 1 + clip) A_i) + entropy_weight H_i]
    w_i = pi(a_i) / pi_old(a_i);  H_i = -sum_j pi_j log pi_j

    grad <- dL/dlogits, by d log pi_a / d logits_j = [j = a] - pi_j and
    dH / d logits_j = -pi_j (log pi_j + H). Returns L without the bonus, and the mean of H.
    """
    n, n_actions = logits.shape
    surrogate = 0.0
    entropies = 0.0
    for i in range(n):
        most = logits[i, 0]
        for j in range(1, n_actions):
            most = max(most, logits[i, j])
        total = 0.0
        for j in range(n_actions):
            total += math.exp(logits[i, j] - most)
        log_total = most + math.log(total)
        entropy = 0.0
        for j in range(n_actions):
            log_prob = logits[i, j] - log_total
            entropy -= math.exp(log_prob) * log_prob
        advantage = advantages[i]
        ratio = math.exp(logits[i, a_tm1[i]] - log_total - old_log_probs[i])
        bounded = min(max(ratio, 1.0 - clip), 1.0 + clip)
        # Where the bounded term is the smaller one, the ratio no longer counts.
        push = advantage * ratio if ratio * advantage <= bounded * advantage else 0.0
        surrogate += min(ratio * advantage, bounded * advantage)
        entropies += entropy
        for j in range(n_actions):
            log_prob = logits[i, j] - log_total
            prob = math.exp(log_prob)
            chosen = 1.0 if j == a_tm1[i] else 0.0
            grad[i, j] = (
                -push * (chosen - prob) + entropy_weight * prob * (log_prob + entropy)
            ) / n
    return -surrogate / n, entropies / n


@compiled
def value_loss(v_tm1: Any, returns: Any, weight: float, grad: Any) -> float:
    """L = weight / n sum_i (v_i - R_i)**2;  grad <- dL/dv, of shape (n, 1). Returns L / weight."""
    n = len(returns)
    loss = 0.0
    for i in range(n):
        error = v_tm1[i, 0] - returns[i]
        loss += error * error
        grad[i, 0] = 2.0 * weight * error / n
    return loss / n
