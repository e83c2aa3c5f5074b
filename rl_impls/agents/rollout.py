"""The experience of one round of PPO, its advantages, and the losses with their gradients,
compiled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from rl_impls.agents.agent import Array, State, take_over
from rl_impls.jit import compiled, inlined

_HALF_LOG_2_PI: Final = 0.5 * math.log(2.0 * math.pi)


@compiled
def gae(
    r_t: Any, v_tm1: Any, v_t: Any, terminated_t: Any, ended_t: Any,
    discount: float, trace: float, advantages: Any,
) -> None:  # fmt: skip
    """Generalised advantage estimation (Schulman et al., 2016, equation 16), backwards in time:

    delta_t = r_t + discount v_t (1 - terminated_t) - v_tm1
    A_t = delta_t + discount trace (1 - ended_t) A_tp1

    All arrays are (steps, n_envs). `v_t` is the value of where a step led: with a truncated episode
    its last observation, not the first of the next. `ended_t` is terminated or truncated.
    """
    n_steps, n_envs = r_t.shape
    for row in range(n_envs):
        advantage = 0.0
        for t in range(n_steps - 1, -1, -1):
            follows = 0.0 if terminated_t[t, row] else discount * v_t[t, row]
            delta = r_t[t, row] + follows - v_tm1[t, row]
            if ended_t[t, row]:
                advantage = 0.0
            advantage = delta + discount * trace * advantage
            advantages[t, row] = advantage


@compiled
def store_step(
    t: int, obs_tm1: Any, r_t: Any, terminated: Any, truncated: Any,
    all_obs: Any, all_r: Any, all_terminated: Any, all_ended: Any,
) -> bool:  # fmt: skip
    """Copy a step to row `t`, and tell whether an episode was cut that could have gone on."""
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
    """Compute the moments of these values at each `size` rows of the order in turn, the last of
    which may be fewer:

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
    """Gather these rows of the experience, their advantages brought to mean 0 and deviation 1 by
    the moments of the whole minibatch, of which they may be a part.

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


@inlined
def clipped(ratio: float, advantage: float, clip: float) -> tuple[float, float]:
    """Return min(w A, clip(w, 1 - clip, 1 + clip) A), and its slope by log w."""
    bounded = min(max(ratio, 1.0 - clip), 1.0 + clip)
    # Where the bounded term is the smaller one, the ratio no longer counts.
    push = advantage * ratio if ratio * advantage <= bounded * advantage else 0.0
    return min(ratio * advantage, bounded * advantage), push


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
        ratio = math.exp(logits[i, a_tm1[i]] - log_total - old_log_probs[i])
        gained, push = clipped(ratio, advantages[i], clip)
        surrogate += gained
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
def gaussian_actions(means: Any, log_std: Any, noise: Any, actions: Any, log_probs: Any) -> None:
    """a = mu + sigma eps, with log pi(a) = sum_j [-eps_j**2 / 2 - log sigma_j - log(2 pi) / 2]."""
    n, size = means.shape
    for i in range(n):
        log_prob = 0.0
        for j in range(size):
            eps = noise[i, j]
            actions[i, j] = means[i, j] + math.exp(log_std[j]) * eps
            log_prob -= 0.5 * eps * eps + log_std[j] + _HALF_LOG_2_PI
        log_probs[i] = log_prob


@compiled
def clipped_gaussian_loss(
    means: Any, log_std: Any, a_tm1: Any, old_log_probs: Any, advantages: Any,
    clip: float, entropy_weight: float, grad: Any, grad_log_std: Any,
) -> tuple[float, float]:  # fmt: skip
    """Compute `clipped_policy_loss` of the density of `gaussian_actions`, whose entropy is
    H = sum_j [log sigma_j + 1/2 + log(2 pi) / 2].

    grad <- dL/dmeans and grad_log_std <- dL/dlog sigma, by d log pi / d mu_j = z_j / sigma_j and
    d log pi / d log sigma_j = z_j**2 - 1 with z = (a - mu) / sigma.
    """
    n, size = means.shape
    entropy = 0.0
    for j in range(size):
        entropy += log_std[j] + 0.5 + _HALF_LOG_2_PI
        grad_log_std[j] = -entropy_weight
    surrogate = 0.0
    for i in range(n):
        log_prob = 0.0
        for j in range(size):
            z = (a_tm1[i, j] - means[i, j]) * math.exp(-log_std[j])
            log_prob -= 0.5 * z * z + log_std[j] + _HALF_LOG_2_PI
        gained, push = clipped(math.exp(log_prob - old_log_probs[i]), advantages[i], clip)
        surrogate += gained
        for j in range(size):
            inverse = math.exp(-log_std[j])
            z = (a_tm1[i, j] - means[i, j]) * inverse
            grad[i, j] = -push * z * inverse / n
            grad_log_std[j] -= push * (z * z - 1.0) / n
    return -surrogate / n, entropy


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


class Flat(NamedTuple):
    """The memory of a rollout, one row a step."""

    obs: Array
    actions: Array
    log_probs: Array
    advantages: Array
    values: Array


def room_for_actions(shape: tuple[int, ...], act_size: int) -> Array:
    return np.zeros((*shape, act_size), np.float32) if act_size else np.zeros(shape, np.int64)


class Rollout:
    """(n_steps, n_envs) of everything; `t` is the next step to fill. Actions are numbers, or with
    `act_size` so many of them each."""

    def __init__(self, n_steps: int, n_envs: int, obs_size: int, act_size: int = 0) -> None:
        shape = (n_steps, n_envs)
        self.n_steps: Final = n_steps
        self.t = 0
        self.obs_tm1 = np.zeros((*shape, obs_size), np.float32)
        self.actions = room_for_actions(shape, act_size)
        self.log_probs = np.zeros(shape, np.float32)
        self.r_t = np.zeros(shape, np.float32)
        self.terminated = np.zeros(shape, np.bool_)
        self.ended = np.zeros(shape, np.bool_)
        self.v_tm1 = np.zeros(shape, np.float32)
        self.v_t = np.zeros(shape, np.float32)
        self.advantages = np.zeros(shape, np.float32)
        n = n_steps * n_envs
        self.flat: Final = Flat(
            self.obs_tm1.reshape(n, obs_size),
            self.actions.reshape(n, *self.actions.shape[2:]),
            self.log_probs.reshape(n),
            self.advantages.reshape(n),
            self.v_tm1.reshape(n),
        )

    def chain(self, v_next: Array) -> None:
        """Fill in where steps led: to where the next one begins, unless an episode ended."""
        going_on = ~self.ended
        np.copyto(self.v_t[:-1], self.v_tm1[1:], where=going_on[:-1])
        np.copyto(self.v_t[-1], v_next, where=going_on[-1])

    def _kept(self) -> dict[str, Array]:
        """Return what is known of the steps before `t`; the rest is computed at the end of the
        round."""
        return {
            "obs_tm1": self.obs_tm1,
            "actions": self.actions,
            "log_probs": self.log_probs,
            "r_t": self.r_t,
            "terminated": self.terminated,
            "ended": self.ended,
            "v_t": self.v_t,
        }

    def state(self) -> State:
        kept = {name: array[: self.t].copy() for name, array in self._kept().items()}
        return {"t": np.array(self.t), **kept}

    def set_state(self, state: Mapping[str, Array]) -> None:
        t = int(state["t"])
        for name, array in self._kept().items():
            take_over(array[:t], state[name], name)
        self.t = t


class Minibatch(NamedTuple):
    obs: Array
    actions: Array
    log_probs: Array
    advantages: Array
    returns: Array
    grad_logits: Array
    grad_values: Array

    @classmethod
    def zeros(cls, n: int, obs_size: int, n_actions: int, act_size: int = 0) -> Minibatch:
        return cls(
            np.zeros((n, obs_size), np.float32),
            room_for_actions((n,), act_size),
            np.zeros(n, np.float32),
            np.zeros(n, np.float32),
            np.zeros(n, np.float32),
            np.zeros((n, act_size or n_actions), np.float32),
            np.zeros((n, 1), np.float32),
        )

    def first(self, n: int) -> Minibatch:
        """Return room for `n` rows: all but the last minibatch of an epoch are whole."""
        return self if n == len(self.actions) else Minibatch(*(array[:n] for array in self))
