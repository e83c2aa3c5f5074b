"""What agents of continuous actions share: a replay, an actor, and twin critics with copies that
follow slowly (Fujimoto et al., 2018).

Of two critics the smaller value counts: one alone overrates what chance overrated. The losses of
critics are compiled and stand first.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

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
from rl_impls.agents.choices import uniform_between
from rl_impls.envs.control.step import Observations, Step
from rl_impls.errors import at_least, fraction
from rl_impls.jit import compiled
from rl_impls.nets.mlp import MLP
from rl_impls.nets.optimisers import Adam, Polyak, norm_of
from rl_impls.replay.layout import Transitions
from rl_impls.replay.uniform import UniformReplay


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


ACTING, LEARNING = range(2)  # streams of chance


@dataclass(frozen=True, slots=True)
class TwinSettings(AgentSettings):
    """`n_updates` of the critics a step of an environment; the actor learns at every
    `actor_every`-th of them."""

    hidden: tuple[int, ...] = (256, 256)
    buffer: int = 1_000_000
    batch: int = 256
    learning_starts: int = 1000  # until then actions are uniform
    n_updates: int = 1
    actor_every: int = 2
    tau: float = 0.005

    def check(self) -> None:
        AgentSettings.check(self)
        at_least(1, buffer=self.buffer, batch=self.batch, learning_starts=self.learning_starts)
        at_least(1, n_updates=self.n_updates, actor_every=self.actor_every)
        fraction(tau=self.tau)


class TwinCritics(DeepAgent):
    """An actor and two critics that learn from a replay; what is learned is up to the subclass.

    Actions are learned between -1 and 1, and stretched to their bounds for the environments.
    """

    settings: TwinSettings

    def __init__(
        self, env: Environments, settings: TwinSettings | None = None, *, seed: int | None = None
    ) -> None:
        shape, settings = self._placed(env, settings, seed)
        require_continuous(self.name.upper(), shape)
        super().__init__(shape, seed)
        self.settings = settings or self._default_settings()
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

    @abstractmethod
    def _default_settings(self) -> TwinSettings: ...

    @abstractmethod
    def _make_actor(self, seed: int) -> MLP: ...

    def _make_network(self, n_inputs: int, n_outputs: int, seed: int, output: str) -> MLP:
        # Values that begin large, as with He's weights, have to be unlearned before others are.
        return MLP(
            [n_inputs, *self.settings.hidden, n_outputs], output=output, init="fan_in_uniform",
            max_batch=max(self.settings.batch, self.shape.n_envs), seed=seed,
        )  # fmt: skip

    def _make_networks(self, actor_seed: int, critic_seeds: list[int]) -> None:
        self.actor = self._make_actor(actor_seed)
        make = partial(
            self._make_network, self.shape.obs_size + self.shape.act_size, 1, output="linear"
        )
        self.critics, self.targets = ([make(seed=seed) for seed in critic_seeds] for _ in range(2))
        networks = zip(("actor", "critic_1", "critic_2"), (self.actor, *self.critics), strict=True)
        self._adams = {
            name: Adam(net.params, net.grads, rate=self.settings.learning_rate)
            for name, net in networks
        }
        self._polyaks = [
            Polyak(target.params, critic.params, self.settings.tau)
            for target, critic in zip(self.targets, self.critics, strict=True)
        ]

    def _allocate(self) -> None:
        n, shape = self.settings.batch, self.shape
        self._squashed = np.zeros((shape.n_envs, shape.act_size), np.float32)
        self._acting_noise = np.zeros_like(self._squashed)
        self._noise = np.zeros((n, shape.act_size), np.float32)
        self._drawn = np.zeros((n, shape.act_size), np.float32)
        self._log_probs = np.zeros(n, np.float32)
        self._goals = np.zeros(n, np.float32)
        # Inputs of the critics: what was seen, then what was or would be done.
        self._x = np.zeros((n, shape.obs_size + shape.act_size), np.float32)
        self._grads = np.zeros((2, n, 1), np.float32)

    @property
    def settings_used(self) -> AgentSettings:
        return self.settings

    def act(self, obs: Observations) -> Array:
        if self.n_steps < self.settings.learning_starts:
            uniform_between(self._chance, ACTING, -1.0, 1.0, self._squashed)
        else:
            self._explore(obs)
        return self._stretched(self._squashed)

    @abstractmethod
    def _explore(self, obs: Observations) -> None:
        """Choose actions between -1 and 1, with exploration, into `_squashed`."""

    def greedy(self, obs: Observations) -> Array:
        return in_parts(
            obs, self.actor.max_batch, lambda part: self._stretched(self._best_of(part))
        )

    @abstractmethod
    def _best_of(self, obs: Observations) -> Array:
        """Return the best known actions between -1 and 1."""

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

    def _follow(self) -> None:
        """Let the slower copies follow by one step."""
        for polyak in self._polyaks:
            polyak.step()

    def rehearse(self) -> None:
        for _ in range(self.settings.actor_every):
            self.update()

    def _join(self, obs: Array, actions: Array) -> Array:
        self._x[:, : self.shape.obs_size] = obs
        self._x[:, self.shape.obs_size :] = actions
        return self._x

    @abstractmethod
    def _imagine(self, obs_t: Array) -> float:
        """Choose actions at `obs_t` into `_drawn`, with the logarithms of their density in
        `_log_probs`, and return how much these count in a target."""

    @abstractmethod
    def _update_actor(self, obs_tm1: Array) -> None: ...

    def _update_critics(self, batch: Transitions) -> None:
        alpha = self._imagine(batch.obs_t)
        x_t = self._join(batch.obs_t, self._drawn)
        q_1, q_2 = (target.forward(x_t) for target in self.targets)
        soft_targets(
            batch.r_t, batch.terminated_t, q_1, q_2, self._log_probs,
            self.settings.discount, alpha, self._goals,
        )  # fmt: skip
        x_tm1 = self._join(batch.obs_tm1, batch.a_tm1)
        for critic, grad in zip(self.critics, self._grads, strict=True):
            self._require_finite(loss=critic_loss(critic.forward(x_tm1), self._goals, grad))
            critic.backward(grad)
            self._require_finite(gradient=norm_of(critic.grads))
        self._adams["critic_1"].step()
        self._adams["critic_2"].step()

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
