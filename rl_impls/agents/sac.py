"""Soft actor-critic with automatic temperature (Haarnoja et al., 2018), for continuous actions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from rl_impls.agents.agent import (
    Array,
    DeepAgent,
    Shape,
    State,
    in_parts,
    require_continuous,
    seeds_of,
    take_over,
    under,
    with_prefix,
)
from rl_impls.agents.choices import standard_normal, uniform_between
from rl_impls.agents.sac_kernels import (
    actor_gradient,
    critic_loss,
    smaller_critic,
    soft_targets,
    squashed_gaussian,
)
from rl_impls.agents.settings import AgentSettings, at_least, fraction, positive
from rl_impls.agents.storing import store
from rl_impls.envs.control.step import Observations, Step
from rl_impls.nets.gradients import Polyak, norm_of
from rl_impls.nets.mlp import MLP
from rl_impls.nets.optimisers import Adam
from rl_impls.replay.transitions import Transitions
from rl_impls.replay.uniform import UniformReplay

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

    Actions are learned between -1 and 1, and stretched to their bounds for the environments.
    """

    name: ClassVar[str] = "sac"
    settings_type: ClassVar[type[AgentSettings]] = SACSettings

    def __init__(
        self, shape: Shape, settings: SACSettings | None = None, *, seed: int | None = None
    ) -> None:
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
        self.actor = MLP(
            [shape.obs_size, *settings.hidden, 2 * shape.act_size], max_batch=room, seed=actor_seed
        )
        # The first policy is wide and favours no side.
        self.actor.weights[-1][:] *= 0.01
        sizes = [shape.obs_size + shape.act_size, *settings.hidden, 1]
        self.critics, self.targets = (
            [MLP(sizes, max_batch=room, seed=seed) for seed in critic_seeds] for _ in range(2)
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
        store(self.replay, step, self._squashed)
        self.n_steps += self.shape.n_envs
        if self.n_steps >= self.settings.learning_starts:
            for _ in range(self.settings.n_updates * self.shape.n_envs):
                self.update()

    def update(self) -> None:
        """The critics learn from a batch of the replay; the actor does when it is its turn."""
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
        """Actions of the present policy into `_drawn`; returns the actor's output."""
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
        """Transitions are whole: nothing waits."""

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
