"""Soft actor-critic with automatic temperature (Haarnoja et al., 2018), for continuous actions.

The squashed Gaussian and the losses with their gradients are compiled and stand first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from rl_impls.agents.agent import (
    AgentSettings,
    Array,
    DeepAgent,
    Environments,
    State,
    in_parts,
    require_continuous,
    seeds_of,
    take_over,
    under,
    with_prefix,
)
from rl_impls.agents.choices import standard_normal, uniform_between
from rl_impls.envs.control.step import Observations, Step
from rl_impls.errors import at_least, fraction, positive
from rl_impls.jit import compiled
from rl_impls.nets.mlp import MLP
from rl_impls.nets.optimisers import Adam, Polyak, norm_of
from rl_impls.replay.layout import Transitions
from rl_impls.replay.uniform import UniformReplay

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


ACTING, LEARNING = range(2)  # streams of chance


@dataclass(frozen=True, slots=True)
class SACSettings(AgentSettings):
    """`n_updates` of the critics a step of an environment; the actor learns at every
    `actor_every`-th of them, and the temperature with it."""

    hidden: tuple[int, ...] = (256, 256)
    buffer: int = 1_000_000
    batch: int = 256
    learning_starts: int = 1000  # until then actions are uniform
    n_updates: int = 1
    actor_every: int = 2
    tau: float = 0.005
    alpha: float = 1.0  # the first temperature

    def check(self) -> None:
        AgentSettings.check(self)
        at_least(1, buffer=self.buffer, batch=self.batch, learning_starts=self.learning_starts)
        at_least(1, n_updates=self.n_updates, actor_every=self.actor_every)
        fraction(tau=self.tau)
        positive(alpha=self.alpha)


class SAC(DeepAgent):
    """A squashed Gaussian actor, twin critics, and copies of these that follow slowly.

        q_i(s_tm1, a_tm1) -> r_t + discount (min_j q_target_j(s_t, a) - alpha log pi(a | s_t))
        pi: maximise E[min_j q_j(s, a) - alpha log pi(a | s)],  a ~ pi
        alpha: minimise E[-alpha (log pi(a | s) + target_entropy)]

    The losses are `soft_targets`, `critic_loss` and `actor_gradient`.

    Actions are learned between -1 and 1, and stretched to their bounds for the environments.
    """

    name: ClassVar[str] = "sac"
    settings_type: ClassVar[type[AgentSettings]] = SACSettings

    def __init__(
        self, env: Environments, settings: SACSettings | None = None, *, seed: int | None = None
    ) -> None:
        shape, settings = self._placed(env, settings, seed)
        require_continuous("SAC", shape)
        super().__init__(shape, seed)
        self.settings: Final = settings or SACSettings()
        self.target_entropy: Final = -float(shape.act_size)
        low, high = np.array(shape.act_low), np.array(shape.act_high)
        self._middle: Final = ((low + high) / 2).astype(np.float32)
        self._half: Final = ((high - low) / 2).astype(np.float32)
        actor_seed, *critic_seeds, replay_seed = seeds_of(seed, 4)
        self._make_networks(actor_seed, critic_seeds)
        self.replay: Final = UniformReplay(
            self.settings.buffer, shape.obs_size, act_size=shape.act_size,
            batch_size=self.settings.batch, seed=replay_seed,
        )  # fmt: skip
        self._allocate()

    def _make_networks(self, actor_seed: int, critic_seeds: list[int]) -> None:
        shape, settings = self.shape, self.settings
        room = max(settings.batch, shape.n_envs)
        # Values that begin large, as with He's weights, have to be unlearned before others are.
        make = partial(MLP, init="fan_in_uniform", max_batch=room)
        self.actor = make([shape.obs_size, *settings.hidden, 2 * shape.act_size], seed=actor_seed)
        sizes = [shape.obs_size + shape.act_size, *settings.hidden, 1]
        self.critics, self.targets = (
            [make(sizes, seed=seed) for seed in critic_seeds] for _ in range(2)
        )
        self.log_alpha = np.array([math.log(settings.alpha)], np.float32)
        self._alpha_grad = np.zeros(1, np.float32)
        rate = settings.learning_rate
        self._adams = {
            "actor": Adam(self.actor.params, self.actor.grads, rate=rate),
            "critic_1": Adam(self.critics[0].params, self.critics[0].grads, rate=rate),
            "critic_2": Adam(self.critics[1].params, self.critics[1].grads, rate=rate),
            "log_alpha": Adam(self.log_alpha, self._alpha_grad, rate=rate),
        }
        self._polyaks = [
            Polyak(target.params, critic.params, settings.tau)
            for target, critic in zip(self.targets, self.critics, strict=True)
        ]

    def _allocate(self) -> None:
        n, shape = self.settings.batch, self.shape
        self._squashed = np.zeros((shape.n_envs, shape.act_size), np.float32)
        self._acting_noise = np.zeros_like(self._squashed)
        self._acting_log_probs = np.zeros(shape.n_envs, np.float32)
        self._noise = np.zeros((n, shape.act_size), np.float32)
        self._log_probs = np.zeros(n, np.float32)
        self._goals = np.zeros(n, np.float32)
        # Inputs of the critics: what was seen, then what was or would be done.
        self._x = np.zeros((n, shape.obs_size + shape.act_size), np.float32)
        self._drawn = np.zeros((n, shape.act_size), np.float32)
        self._grads = np.zeros((2, n, 1), np.float32)
        self._actor_grad = np.zeros((n, 2 * shape.act_size), np.float32)

    @property
    def settings_used(self) -> AgentSettings:
        return self.settings

    @property
    def alpha(self) -> float:
        """The temperature."""
        return math.exp(self.log_alpha[0])

    def act(self, obs: Observations) -> Array:
        if self.n_steps < self.settings.learning_starts:
            uniform_between(self._chance, ACTING, -1.0, 1.0, self._squashed)
        else:
            standard_normal(self._chance, ACTING, self._acting_noise)
            squashed_gaussian(
                self.actor.forward(obs), self._acting_noise, self._squashed, self._acting_log_probs
            )
        return self._stretched(self._squashed)

    def greedy(self, obs: Observations) -> Array:
        return in_parts(obs, self.actor.max_batch, self._means)

    def _means(self, obs: Observations) -> Array:
        return self._stretched(np.tanh(self.actor.forward(obs)[:, : self.shape.act_size]))

    def _stretched(self, squashed: Array) -> Array:
        stretched: Array = self._middle + self._half * squashed
        return stretched

    def observe(self, step: Step) -> None:
        self.replay.add_step(step, self._squashed)
        self.n_steps += self.shape.n_envs
        if self.n_steps >= self.settings.learning_starts:
            for _ in range(self.settings.n_updates * self.shape.n_envs):
                self.update()

    def update(self) -> None:
        """Let the critics learn from a batch of the replay, and the actor when it is its turn."""
        batch = self.replay.sample()
        self._update_critics(batch)
        # The count of an optimiser's steps is saved with it.
        if self._adams["critic_1"].n_steps % self.settings.actor_every == 0:
            self._update_actor(batch.obs_tm1)
        for polyak in self._polyaks:
            polyak.step()

    def rehearse(self) -> None:
        for _ in range(self.settings.actor_every):
            self.update()

    def _draw(self, obs: Array) -> Array:
        """Draw actions of the present policy into `_drawn`, and return the actor's output."""
        out = self.actor.forward(obs)
        standard_normal(self._chance, LEARNING, self._noise)
        squashed_gaussian(out, self._noise, self._drawn, self._log_probs)
        return out

    def _join(self, obs: Array, actions: Array) -> Array:
        self._x[:, : self.shape.obs_size] = obs
        self._x[:, self.shape.obs_size :] = actions
        return self._x

    def _update_critics(self, batch: Transitions) -> None:
        self._draw(batch.obs_t)
        x_t = self._join(batch.obs_t, self._drawn)
        q_1, q_2 = (target.forward(x_t) for target in self.targets)
        soft_targets(
            batch.r_t, batch.terminated_t, q_1, q_2, self._log_probs,
            self.settings.discount, self.alpha, self._goals,
        )  # fmt: skip
        x_tm1 = self._join(batch.obs_tm1, batch.a_tm1)
        for critic, grad in zip(self.critics, self._grads, strict=True):
            self._require_finite(loss=critic_loss(critic.forward(x_tm1), self._goals, grad))
            critic.backward(grad)
            self._require_finite(gradient=norm_of(critic.grads))
        self._adams["critic_1"].step()
        self._adams["critic_2"].step()

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

    def parameters(self) -> list[Array]:
        return [self.actor.params]

    def cut(self) -> None:
        """Do nothing: transitions are whole, and none waits."""

    def _learned(self) -> State:
        return {
            "actor": self.actor.params,
            "critic_1": self.critics[0].params,
            "critic_2": self.critics[1].params,
            "target_1": self.targets[0].params,
            "target_2": self.targets[1].params,
            "log_alpha": self.log_alpha,
        }

    def state(self) -> State:
        state = super().state() | {name: a.copy() for name, a in self._learned().items()}
        for name, adam in self._adams.items():
            state |= with_prefix(f"{name}_adam", adam.state())
        return state | with_prefix("replay", self.replay.state())

    def set_state(self, state: Mapping[str, Array]) -> None:
        super().set_state(state)
        for name, array in self._learned().items():
            take_over(array, state[name], name)
        for name, adam in self._adams.items():
            adam.set_state(under(f"{name}_adam", state))
        self.replay.set_state(under("replay", state))
