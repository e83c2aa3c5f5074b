"""How PPO chooses actions: by number, or as points around a mean."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from rl_impls.agents.agent import Array, Shape
from rl_impls.agents.choices import sample_categorical, standard_normal
from rl_impls.agents.rollout import (
    Minibatch,
    clipped_gaussian_loss,
    clipped_policy_loss,
    gaussian_actions,
)
from rl_impls.nets.mlp import MLP, n_params_of

# All actions begin nearly as likely: no chance of the first weights steers the first round.
make_actor: Final = partial(MLP, activation="tanh", init="orthogonal", gains=(math.sqrt(2.0), 0.01))


class GaussianActor:
    """Means by a network, and a deviation for each number of an action that is the same wherever it
    is chosen. All of it lies in one flat array, the logarithms of the deviations last; they begin
    at 0."""

    def __init__(self, sizes: list[int], *, max_batch: int, seed: int | None = None) -> None:
        n, self.max_batch = n_params_of(sizes), max_batch
        self.params: Final[NDArray[Any]] = np.zeros(n + sizes[-1], np.float32)
        self.grads: Final[NDArray[Any]] = np.zeros_like(self.params)
        memory = self.params[:n], self.grads[:n]
        self.means: Final = make_actor(sizes, max_batch=max_batch, seed=seed, memory=memory)
        self.log_std: Final = self.params[n:]
        self.log_std_grad: Final = self.grads[n:]

    def forward(self, obs: Array) -> Array:
        """Return the means; the next call overwrites them."""
        return self.means.forward(obs)


class Policy(Protocol):
    """What PPO asks of the way in which actions are chosen."""

    def sample(
        self, obs: Array, chance: Array, stream: int, actions: Array, log_probs: Array
    ) -> Array:
        """Draw actions and the logarithms of their density, and return what environments take."""

    def best(self, obs: Array) -> Array:
        """Return the most likely actions, as environments take them."""

    def differentiate(
        self, batch: Minibatch, clip: float, entropy_weight: float
    ) -> tuple[float, float]:
        """Return the loss and the entropy; the gradient goes to the actor's `grads`."""


class Categorical:
    """One of numbered actions, by softmax."""

    def __init__(self, actor: MLP) -> None:
        self._actor: Final = actor

    def sample(
        self, obs: Array, chance: Array, stream: int, actions: Array, log_probs: Array
    ) -> Array:
        sample_categorical(self._actor.forward(obs), chance, stream, actions, log_probs)
        return actions

    def best(self, obs: Array) -> Array:
        best: Array = self._actor.forward(obs).argmax(axis=1)
        return best

    def differentiate(
        self, batch: Minibatch, clip: float, entropy_weight: float
    ) -> tuple[float, float]:
        losses = clipped_policy_loss(
            self._actor.forward(batch.obs), batch.actions, batch.log_probs, batch.advantages,
            clip, entropy_weight, batch.grad_logits,
        )  # fmt: skip
        self._actor.backward(batch.grad_logits)
        return losses


class Gaussian:
    """Points around a mean. What lies beyond the bounds is drawn and learned from as it is, and
    brought within them for the environments."""

    def __init__(self, actor: GaussianActor, shape: Shape) -> None:
        self._actor: Final = actor
        self._low, self._high = (np.array(b, np.float32) for b in (shape.act_low, shape.act_high))
        self._noise: Final = np.zeros((shape.n_envs, shape.act_size), np.float32)

    def sample(
        self, obs: Array, chance: Array, stream: int, actions: Array, log_probs: Array
    ) -> Array:
        standard_normal(chance, stream, self._noise)
        means = self._actor.forward(obs)
        gaussian_actions(means, self._actor.log_std, self._noise, actions, log_probs)
        return self._within(actions)

    def best(self, obs: Array) -> Array:
        return self._within(self._actor.forward(obs))

    def _within(self, actions: Array) -> Array:
        return np.clip(actions, self._low, self._high)

    def differentiate(
        self, batch: Minibatch, clip: float, entropy_weight: float
    ) -> tuple[float, float]:
        actor = self._actor
        losses = clipped_gaussian_loss(
            actor.forward(batch.obs), actor.log_std, batch.actions, batch.log_probs,
            batch.advantages, clip, entropy_weight, batch.grad_logits, actor.log_std_grad,
        )  # fmt: skip
        actor.means.backward(batch.grad_logits)
        return losses
