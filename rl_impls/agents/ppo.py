"""Proximal policy optimisation (Schulman et al., 2017), for numbered and continuous actions.

The losses and the experience of a round are in `rollout`, the ways to choose in `policies`.
Peers learn the same weights as an agent, each from experience of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from rl_impls.agents.agent import (
    AgentSettings,
    Array,
    DeepAgent,
    Environments,
    State,
    in_parts,
    seeds_of,
    take_over,
    under,
    with_prefix,
)
from rl_impls.agents.choices import shuffle
from rl_impls.agents.normalising import RewardScale, RunningMoments
from rl_impls.agents.policies import Categorical, Gaussian, GaussianActor, Policy, make_actor
from rl_impls.agents.rollout import (
    Minibatch,
    Rollout,
    gae,
    gather_minibatch,
    minibatch_moments,
    store_step,
    value_loss,
)
from rl_impls.envs.control.step import Observations, Step
from rl_impls.errors import SettingError, at_least, fraction, not_negative, positive
from rl_impls.nets.mlp import MLP
from rl_impls.nets.optimisers import Adam, Optimiser, norm_of
from rl_impls.schedules import Constant, Linear, Rate


class Peers(Protocol):
    """Others that make the same updates at the same time, each from as many rows as this agent."""

    def join_moments(self, moments: Array) -> None:
        """Replace the moments of an agent's own numbers by those of the numbers of all: a row holds
        count, mean and sum of squared distances from it."""

    def send(self, grads: Array) -> None:
        """Begin to average them. Whoever sends does not touch them until `receive`."""

    def receive(self) -> None:
        """Replace what was sent since the last time by the mean of what all sent."""


class NoPeers:
    """Nobody else: the mean of one is what it has."""

    def join_moments(self, moments: Array) -> None:
        pass

    def send(self, grads: Array) -> None:
        pass

    def receive(self) -> None:
        pass


ALONE: Final = NoPeers()


def clip_together(grads: Sequence[NDArray[Any]], most: float) -> float:
    """g <- g min(1, most / |g|) with g all arrays end to end; returns |g| before."""
    norm = math.hypot(*map(norm_of, grads))
    if most < norm < math.inf:
        for part in grads:
            part *= most / norm
    return norm


ACTING, SHUFFLING = range(2)  # streams of chance
ADAM_EPS: Final = 1e-5


@dataclass(frozen=True, slots=True)
class PPOSettings(AgentSettings):
    """`horizon` counts the steps of all environments together between two rounds of learning."""

    horizon: int = 2048
    n_epochs: int = 10
    minibatch: int = 256
    clip: float = 0.2
    trace: float = 0.95  # lambda of the advantages
    entropy_weight: float = 0.01
    value_weight: float = 0.5
    max_norm: float = 0.5
    linear_over: int = 0  # steps until the learning rate is 0; 0: it stays as it is
    # By what was seen so far: `normalising`.
    normalise_obs: bool = False
    normalise_rewards: bool = False

    def check(self) -> None:
        AgentSettings.check(self)
        at_least(1, horizon=self.horizon, n_epochs=self.n_epochs, minibatch=self.minibatch)
        at_least(0, linear_over=self.linear_over)
        fraction(clip=self.clip, trace=self.trace)
        not_negative(entropy_weight=self.entropy_weight, value_weight=self.value_weight)
        positive(max_norm=self.max_norm)

    @property
    def updates_an_epoch(self) -> int:
        return -(-self.horizon // self.minibatch)

    def rate(self) -> Rate:
        """The learning rate by updates, as an optimiser asks for it."""
        if not self.linear_over:
            return Constant(self.learning_rate, "step")
        per_round = self.n_epochs * self.updates_an_epoch
        n_rounds = -(-self.linear_over // self.horizon)
        return Linear(self.learning_rate, 0.0, n_rounds * per_round, "step")


class PPO(DeepAgent):
    """An actor and a critic of equal hidden layers, which share nothing.

        maximise E[min(w A, clip(w, 1 - clip, 1 + clip) A)],  w = pi(a | s) / pi_old(a | s)

    with the advantages A of `rollout.gae`, of mean 0 and deviation 1 in a minibatch. The losses are
    `rollout.clipped_policy_loss`, or for continuous actions `rollout.clipped_gaussian_loss`, and
    `rollout.value_loss`.

    `peers` learn the same weights: a minibatch then is what all of them have of it, and an agent's
    settings and shape are those of its own part.
    """

    name: ClassVar[str] = "ppo"
    settings_type: ClassVar[type[AgentSettings]] = PPOSettings

    def __init__(
        self,
        env: Environments,
        settings: PPOSettings | None = None,
        *,
        seed: int | None = None,
        peers: Peers = ALONE,
    ) -> None:
        shape, settings = self._placed(env, settings, seed)
        if shape.act_size and self.backend != "numpy":
            raise SettingError(
                f"PPO on {self.backend} chooses among numbered actions, and these are continuous: "
                "leave the back end out."
            )
        self.settings: Final = settings or PPOSettings()
        if self.settings.horizon % shape.n_envs:
            raise SettingError(
                f"a horizon of {self.settings.horizon} steps cannot be shared by {shape.n_envs} "
                "environments: choose a multiple."
            )
        super().__init__(shape, seed)
        self._peers: Final = peers
        self._make_networks(seed)
        # Of the last update: policy, value, entropy.
        self.losses = (0.0, 0.0, 0.0)
        self._rollout: Final = Rollout(
            self.settings.horizon // shape.n_envs, shape.n_envs, shape.obs_size, shape.act_size
        )
        self._batch: Final = Minibatch.zeros(
            min(self.settings.minibatch, self.settings.horizon), shape.obs_size, shape.n_actions,
            shape.act_size,
        )  # fmt: skip
        self._obs_moments: Final = (
            RunningMoments(shape.obs_size) if self.settings.normalise_obs else None
        )
        self._reward_scale: Final = (
            RewardScale(shape.n_envs, self.settings.discount)
            if self.settings.normalise_rewards
            else None
        )
        self._order: Final = np.arange(self.settings.horizon)
        self._idle: Final = np.zeros(self._rollout.r_t.shape, np.bool_)
        self._moments: Final = np.zeros((self.settings.updates_an_epoch, 3))

    def _make_networks(self, seed: int | None) -> None:
        actor_seed, critic_seed = seeds_of(seed, 2)
        room = max(self.settings.minibatch, self.shape.n_envs)
        sizes = [self.shape.obs_size, *self.settings.hidden]
        self.actor, self._policy = self._make_actor(sizes, room, actor_seed)
        self.critic = MLP(
            [*sizes, 1], activation="tanh", init="orthogonal", gains=(math.sqrt(2.0), 1.0),
            max_batch=room, seed=critic_seed,
        )  # fmt: skip
        self._optimisers = self._make_optimisers()

    def _make_actor(
        self, sizes: list[int], room: int, seed: int
    ) -> tuple[MLP | GaussianActor, Policy]:
        if self.shape.act_size:
            gaussian = GaussianActor([*sizes, self.shape.act_size], max_batch=room, seed=seed)
            return gaussian, Gaussian(gaussian, self.shape)
        actor = make_actor([*sizes, self.shape.n_actions], max_batch=room, seed=seed)
        return actor, Categorical(actor)

    def _make_optimisers(self) -> Sequence[Optimiser]:
        """Return the optimisers of the actor and of the critic."""
        return [
            Adam(net.params, net.grads, rate=self.settings.rate(), eps=ADAM_EPS)
            for net in (self.actor, self.critic)
        ]

    @property
    def settings_used(self) -> AgentSettings:
        return self.settings

    def act(self, obs: Observations) -> Array:
        if self._obs_moments is not None:
            self._obs_moments.take_in(obs)
            self._seen = obs = self._obs_moments.on_one_scale(obs)
        rollout = self._rollout
        t = rollout.t
        return self._policy.sample(
            obs, self._chance, ACTING, rollout.actions[t], rollout.log_probs[t]
        )

    def greedy(self, obs: Observations) -> Array:
        return in_parts(self._as_seen(obs), self.actor.max_batch, self._policy.best)

    def _as_seen(self, obs: Observations) -> Observations:
        """Return observations as the networks see them."""
        return obs if self._obs_moments is None else self._obs_moments.on_one_scale(obs)

    def observe(self, step: Step) -> None:
        rollout = self._rollout
        obs_tm1 = step.obs_tm1 if self._obs_moments is None else self._seen
        r_t = step.r_t if self._reward_scale is None else self._reward_scale.scaled(step)
        cut = store_step(
            rollout.t, obs_tm1, r_t, step.terminated, step.truncated,
            rollout.obs_tm1, rollout.r_t, rollout.terminated, rollout.ended,
        )  # fmt: skip
        if cut:
            # The critic does not change before the round is over: its value holds until then.
            rollout.v_t[rollout.t] = self.critic.forward(self._as_seen(step.obs_t))[:, 0]
        self._idle[rollout.t] = False if step.idle is None else step.idle
        rollout.t += 1
        self.n_steps += self.shape.n_envs
        if rollout.t == rollout.n_steps:
            self.learn_round(self._as_seen(step.next_obs))
            rollout.t = 0

    def learn_round(self, next_obs: Observations) -> None:
        """Make a round of updates from the whole rollout, which `next_obs` follows."""
        self._judge_rollout(next_obs)
        self._improve()

    def _improve(self) -> None:
        size = self.settings.minibatch
        for order in self._orders():
            every = self._moments[: -(-len(order) // size)]
            minibatch_moments(order, size, self._rollout.flat.advantages, every)
            self._peers.join_moments(every)
            for k, moments in enumerate(every):
                self._update(order[k * size : (k + 1) * size], moments)

    def _orders(self) -> Iterator[Array]:
        """Yield an order of the rows for each epoch, idle ones left out; the next one overwrites
        it."""
        idle = self._idle.ravel()
        some_idle = bool(idle.any())
        if some_idle and self.backend == "jax":
            raise SettingError(
                "PPO on jax learns from rounds of equal size: make the vector environment with "
                "vectorization_mode='sync', or choose another back end."
            )
        for _ in range(self.settings.n_epochs):
            shuffle(self._order, self._chance, SHUFFLING)
            yield self._order[~idle[self._order]] if some_idle else self._order

    @property
    def n_updates(self) -> int:
        """The number of updates so far."""
        return self._optimisers[0].n_steps

    @property
    def n_unlearned(self) -> int:
        """The number of steps of the round that is not over yet."""
        return self._rollout.t * self.shape.n_envs

    def rehearse(self) -> None:
        self.learn_round(np.zeros((self.shape.n_envs, self.shape.obs_size), np.float32))

    def _judge_rollout(self, next_obs: Observations) -> None:
        rollout, room = self._rollout, self.critic.max_batch
        for start in range(0, len(rollout.flat.obs), room):
            part = slice(start, start + room)
            rollout.flat.values[part] = self.critic.forward(rollout.flat.obs[part])[:, 0]
        rollout.chain(self.critic.forward(next_obs)[:, 0])
        gae(
            rollout.r_t, rollout.v_tm1, rollout.v_t, rollout.terminated, rollout.ended,
            self.settings.discount, self.settings.trace, rollout.advantages,
        )  # fmt: skip

    def _update(self, rows: Array, moments: Array) -> None:
        settings, flat = self.settings, self._rollout.flat
        batch = self._batch.first(len(rows))
        gather_minibatch(
            rows, flat.obs, flat.actions, flat.log_probs, flat.advantages, flat.values, moments,
            batch.obs, batch.actions, batch.log_probs, batch.advantages, batch.returns,
        )  # fmt: skip
        policy, entropy = self._policy.differentiate(batch, settings.clip, settings.entropy_weight)
        self._require_finite(loss=policy)
        # It travels while the critic is differentiated.
        self._peers.send(self.actor.grads)
        value = value_loss(
            self.critic.forward(batch.obs), batch.returns, settings.value_weight, batch.grad_values
        )
        self._require_finite(loss=value)
        self.critic.backward(batch.grad_values)
        self._peers.send(self.critic.grads)
        self.losses = (policy, value, entropy)
        self._peers.receive()
        gradient = clip_together((self.actor.grads, self.critic.grads), settings.max_norm)
        self._require_finite(gradient=gradient)
        for optimiser in self._optimisers:
            assert isinstance(optimiser, Adam)
            optimiser.step()

    def parameters(self) -> list[Array]:
        seen_by = [] if self._obs_moments is None else self._obs_moments.arrays.values()
        return [self.actor.params, self.critic.params, *seen_by]

    def cut(self) -> None:
        self._rollout.t = 0
        if self._reward_scale is not None:
            self._reward_scale.cut()

    def state(self) -> State:
        return {
            **super().state(),
            "actor": self.actor.params.copy(),
            "critic": self.critic.params.copy(),
            "order": self._order.copy(),
            **with_prefix("actor_adam", self._optimisers[0].state()),
            **with_prefix("critic_adam", self._optimisers[1].state()),
            **with_prefix("rollout", self._rollout.state()),
            **(with_prefix("obs", self._obs_moments.state()) if self._obs_moments else {}),
            **(with_prefix("rewards", self._reward_scale.state()) if self._reward_scale else {}),
        }

    def set_state(self, state: Mapping[str, Array]) -> None:
        super().set_state(state)
        take_over(self.actor.params, state["actor"], "actor")
        take_over(self.critic.params, state["critic"], "critic")
        take_over(self._order, state["order"], "order")
        self._optimisers[0].set_state(under("actor_adam", state))
        self._optimisers[1].set_state(under("critic_adam", state))
        self._rollout.set_state(under("rollout", state))
        if self._obs_moments is not None:
            self._obs_moments.set_state(under("obs", state))
        if self._reward_scale is not None:
            self._reward_scale.set_state(under("rewards", state))
