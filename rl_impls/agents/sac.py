"""Soft actor-critic with automatic temperature (Haarnoja et al., 2018), for continuous actions.

The squashed Gaussian and the losses with their gradients are compiled and stand first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from rl_impls.agents.agent import AgentSettings, Array, Environments, State
from rl_impls.agents.choices import standard_normal
from rl_impls.agents.twin_critics import ACTING, LEARNING, TwinCritics, TwinSettings
from rl_impls.envs.control.step import Observations
from rl_impls.errors import positive
from rl_impls.jit import compiled
from rl_impls.nets.mlp import MLP
from rl_impls.nets.optimisers import Adam, norm_of

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


@dataclass(frozen=True, slots=True)
class SACSettings(TwinSettings):
    """The temperature learns with the actor."""

    alpha: float = 1.0  # the first temperature

    def check(self) -> None:
        TwinSettings.check(self)
        positive(alpha=self.alpha)


class SAC(TwinCritics):
    """A squashed Gaussian actor, twin critics, and copies of these that follow slowly.

        q_i(s_tm1, a_tm1) -> r_t + discount (min_j q_target_j(s_t, a) - alpha log pi(a | s_t))
        pi: maximise E[min_j q_j(s, a) - alpha log pi(a | s)],  a ~ pi
        alpha: minimise E[-alpha (log pi(a | s) + target_entropy)]

    The losses are `soft_targets`, `critic_loss` and `actor_gradient`.
    """

    name: ClassVar[str] = "sac"
    settings_type: ClassVar[type[AgentSettings]] = SACSettings
    settings: SACSettings

    def __init__(
        self, env: Environments, settings: SACSettings | None = None, *, seed: int | None = None
    ) -> None:
        super().__init__(env, settings, seed=seed)
        self.target_entropy: Final = -float(self.shape.act_size)

    def _default_settings(self) -> SACSettings:
        return SACSettings()

    def _make_actor(self, seed: int) -> MLP:
        return self._make_network(self.shape.obs_size, 2 * self.shape.act_size, seed, "linear")

    def _make_networks(self, actor_seed: int, critic_seeds: list[int]) -> None:
        super()._make_networks(actor_seed, critic_seeds)
        self.log_alpha = np.array([math.log(self.settings.alpha)], np.float32)
        self._alpha_grad = np.zeros(1, np.float32)
        rate = self.settings.learning_rate
        self._adams["log_alpha"] = Adam(self.log_alpha, self._alpha_grad, rate=rate)

    def _allocate(self) -> None:
        super()._allocate()
        self._acting_log_probs = np.zeros(self.shape.n_envs, np.float32)
        self._actor_grad = np.zeros((self.settings.batch, 2 * self.shape.act_size), np.float32)

    @property
    def alpha(self) -> float:
        """The temperature."""
        return math.exp(self.log_alpha[0])

    def _explore(self, obs: Observations) -> None:
        standard_normal(self._chance, ACTING, self._acting_noise)
        squashed_gaussian(
            self.actor.forward(obs), self._acting_noise, self._squashed, self._acting_log_probs
        )

    def _best_of(self, obs: Observations) -> Array:
        best: Array = np.tanh(self.actor.forward(obs)[:, : self.shape.act_size])
        return best

    def update(self) -> None:
        super().update()
        self._follow()

    def _draw(self, obs: Array) -> Array:
        """Draw actions of the present policy into `_drawn`, and return the actor's output."""
        out = self.actor.forward(obs)
        standard_normal(self._chance, LEARNING, self._noise)
        squashed_gaussian(out, self._noise, self._drawn, self._log_probs)
        return out

    def _imagine(self, obs_t: Array) -> float:
        self._draw(obs_t)
        return self.alpha

    def _update_actor(self, obs_tm1: Array) -> None:
        out = self._draw(obs_tm1)
        x_tm1 = self._join(obs_tm1, self._drawn)
        q_1, q_2 = (critic.forward(x_tm1) for critic in self.critics)
        smaller_critic(q_1, q_2, self._grads[0], self._grads[1])
        # What this leaves in the critics' gradients is overwritten before they learn again.
        by_x = [
            critic.backward(grad, input_grad=True)
            for critic, grad in zip(self.critics, self._grads, strict=True)
        ]
        actor_gradient(
            out, self._noise, self._drawn, by_x[0], by_x[1], self.alpha, self._actor_grad
        )
        self.actor.backward(self._actor_grad)
        # L = -log alpha (mean log pi + target entropy)
        self._alpha_grad[0] = -(self._log_probs.mean() + self.target_entropy)
        self._require_finite(
            gradient=norm_of(self.actor.grads), temperature=float(self._alpha_grad[0])
        )
        self._adams["actor"].step()
        self._adams["log_alpha"].step()

    def _learned(self) -> State:
        return {**super()._learned(), "log_alpha": self.log_alpha}
