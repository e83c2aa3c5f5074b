"""DQN and PPO whose updates are compiled functions of JAX; the rest is that of
`rl_impls.agents`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rl_impls.agents.agent import Environments
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.ppo import ADAM_EPS, PPO, PPOSettings
from rl_impls.agents.rollout import Flat
from rl_impls.backends.jax.network import (
    BETAS,
    CarriedAdam,
    Layers,
    Moments,
    NetworkSpec,
    adam_step,
    clipped,
    precompile,
)
from rl_impls.nets.mlp import MLP
from rl_impls.nets.optimisers import Optimiser
from rl_impls.replay.layout import Transitions
from rl_impls.schedules import Constant


class QRow(NamedTuple):
    """A transition, or many of them."""

    obs_tm1: Any
    a_tm1: Any
    r_t: Any
    obs_t: Any
    terminated_t: Any


def row_loss(
    spec: NetworkSpec, settings: DQNSettings, layers: Layers, target: Layers, row: QRow
) -> Any:
    """Return the Huber loss of one transition; see `agents.dqn.q_loss`."""
    q_t = spec.row(target, row.obs_t)
    best = jnp.argmax(spec.row(layers, row.obs_t) if settings.double else q_t)
    follows = jnp.where(row.terminated_t, 0.0, settings.bootstrap * q_t[best])
    error = spec.row(layers, row.obs_tm1)[row.a_tm1] - jax.lax.stop_gradient(row.r_t + follows)
    bounded = jnp.clip(error, -settings.huber, settings.huber)
    # The slope of a bound is 0 beyond it, and the value's there is what is left: huber.
    return jnp.where(
        jnp.abs(error) <= settings.huber, 0.5 * error**2, bounded * error - 0.5 * bounded**2
    )


@lru_cache(maxsize=64)
def compiled_update(spec: NetworkSpec, settings: DQNSettings) -> Any:
    """(params, target, moments, correction, batch) -> (params, moments, loss, |gradient|).

    Agents of equal settings share it, and with it what is compiled.
    """

    def mean_loss(layers: Layers, target: Layers, batch: QRow) -> Any:
        losses = jax.vmap(partial(row_loss, spec, settings), in_axes=(None, None, 0))
        return losses(layers, target, batch).mean()

    def update(params: Any, target: Any, moments: Moments, correction: Any, batch: QRow) -> Any:
        loss, slopes = jax.value_and_grad(mean_loss)(
            spec.layers(params), spec.layers(target), batch
        )
        (grads,), norm = clipped([spec.flat(slopes)], settings.max_norm)
        params, moments = adam_step(params, moments, grads, correction, betas=BETAS, eps=1e-8)
        return params, moments, loss, norm

    return jax.jit(update)


class JaxDQN(DQN):
    """A loss that is not finite is noticed after the step that it made. With `precompiled` the
    update is compiled when the agent is made, and `compile_s` says how long that took.
    """

    backend: ClassVar[str] = "jax"
    can_extend: ClassVar[bool] = False

    def __init__(
        self,
        env: Environments,
        settings: DQNSettings | None = None,
        *,
        seed: int | None = None,
        remat: bool = False,
        precompiled: bool = False,
    ) -> None:
        super().__init__(env, settings, seed=seed)
        assert isinstance(self.net, MLP)  # two streams are refused
        spec = NetworkSpec.of(self.net, remat=remat)
        self._step = compiled_update(spec, self.settings)
        self.compile_s = 0.0
        if precompiled:
            dummies = Transitions.zeros(self.settings.batch, self.shape.obs_size)
            made = precompile(self._step, *self._inputs(dummies))
            self._step, self.compile_s = made.function, made.seconds

    def _optimiser(self) -> Optimiser:
        rate = Constant(self.settings.learning_rate, "step")
        self._carried = CarriedAdam(self.net.params.size, rate)
        return self._carried

    @classmethod
    def acting_type(cls) -> type[DQN]:
        return DQN

    def _inputs(self, batch: Transitions) -> tuple[Any, ...]:
        correction = self._carried.next_corrections(1)[0]
        rows = QRow(*batch.arrays())
        return self.net.params, self.target.params, self._carried.moments, correction, rows

    def _improve(self, batch: Transitions) -> None:
        params, moments, loss, gradient = self._step(*self._inputs(batch))
        # Waits for the update: until then JAX may read the arrays of NumPy.
        self.net.params[:] = np.asarray(params)
        self._carried.took(1, moments)
        self.loss = float(loss)
        self._require_finite(loss=self.loss, gradient=float(gradient))


class Side(NamedTuple):
    """The actor or the critic while it learns."""

    params: Any
    moments: Moments


class Learning(NamedTuple):
    actor: Side
    critic: Side


class Losses(NamedTuple):
    policy: Any
    value: Any
    entropy: Any
    gradient: Any  # its norm


def row_losses(
    settings: PPOSettings, logits: Any, value: Any, row: Flat, advantage: Any
) -> tuple[Any, Any, Any]:
    """Return surrogate, squared error and entropy of one step; see `agents.rollout`."""
    log_probs = jax.nn.log_softmax(logits)
    ratio = jnp.exp(log_probs[row.actions] - row.log_probs)
    bounded = jnp.clip(ratio, 1.0 - settings.clip, 1.0 + settings.clip)
    surrogate = jnp.minimum(ratio * advantage, bounded * advantage)
    error = value - (row.advantages + row.values)
    return -surrogate, error**2, -(jnp.exp(log_probs) * log_probs).sum()


def normalised(advantages: Any) -> Any:
    """Return the advantages with mean 0 and deviation 1; of one row alone, 0."""
    centred = advantages - advantages.mean()
    deviation = jnp.sqrt((centred**2).sum() / max(len(advantages) - 1, 1))
    return centred / (deviation + 1e-8)


@lru_cache(maxsize=64)
def compiled_round(specs: tuple[NetworkSpec, NetworkSpec], settings: PPOSettings) -> Any:
    """(learning, flat, orders, corrections) -> (learning, losses of the last update).

    All epochs and minibatches are one call: a loop in compiled code, in which nobody waits for
    Python. Agents of equal settings share it, and with it what is compiled.
    """
    actor_spec, critic_spec = specs

    def total_loss(sides: tuple[Layers, Layers], batch: Flat) -> tuple[Any, tuple[Any, Any, Any]]:
        actor, critic = sides
        logits = jax.vmap(actor_spec.row, in_axes=(None, 0))(actor, batch.obs)
        values = jax.vmap(critic_spec.row, in_axes=(None, 0))(critic, batch.obs)[:, 0]
        each = jax.vmap(partial(row_losses, settings))(
            logits, values, batch, normalised(batch.advantages)
        )
        policy, value, entropy = (losses.mean() for losses in each)
        bonus = settings.entropy_weight * entropy
        return policy - bonus + settings.value_weight * value, (policy, value, entropy)

    def update(
        learning: Learning, flat: Flat, rows: Any, correction: Any
    ) -> tuple[Learning, Losses]:
        batch = Flat(*(array[rows] for array in flat))
        layers = tuple(s.layers(side.params) for s, side in zip(specs, learning, strict=True))
        differentiate = jax.value_and_grad(total_loss, has_aux=True)
        (_, (policy, value, entropy)), slopes = differentiate(layers, batch)
        flat_slopes = [spec.flat(slope) for spec, slope in zip(specs, slopes, strict=True)]
        grads, norm = clipped(flat_slopes, settings.max_norm)
        sides = [
            Side(*adam_step(*side, grad, correction, betas=BETAS, eps=ADAM_EPS))
            for side, grad in zip(learning, grads, strict=True)
        ]
        return Learning(*sides), Losses(policy, value, entropy, norm)

    def epoch(learning: Learning, given: Any, flat: Flat) -> tuple[Learning, Losses]:
        order, corrections = given
        n_whole, rest = divmod(len(order), settings.minibatch)
        losses: Any = None  # an epoch has at least one row
        if n_whole:
            rows = order[: n_whole * settings.minibatch].reshape(n_whole, settings.minibatch)
            learning, every = jax.lax.scan(
                lambda now, each: update(now, flat, *each), learning, (rows, corrections[:n_whole])
            )
            losses = Losses(*(loss[-1] for loss in every))
        if rest:
            learning, losses = update(learning, flat, order[-rest:], corrections[-1])
        return learning, losses

    def play_round(learning: Learning, flat: Flat, orders: Any, corrections: Any) -> Any:
        learning, every = jax.lax.scan(
            lambda now, each: epoch(now, each, flat), learning, (orders, corrections)
        )
        return learning, Losses(*(loss[-1] for loss in every))

    return jax.jit(play_round)


class JaxPPO(PPO):
    """A loss that is not finite is noticed at the end of its round. With `precompiled` a round is
    compiled when the agent is made, and `compile_s` says how long that took.
    """

    backend: ClassVar[str] = "jax"

    def __init__(
        self,
        env: Environments,
        settings: PPOSettings | None = None,
        *,
        seed: int | None = None,
        remat: bool = False,
        precompiled: bool = False,
    ) -> None:
        super().__init__(env, settings, seed=seed)
        assert isinstance(self.actor, MLP)  # continuous actions are refused
        actor, critic = (NetworkSpec.of(net, remat=remat) for net in (self.actor, self.critic))
        self._round = compiled_round((actor, critic), self.settings)
        self.compile_s = 0.0
        if precompiled:
            dummies = np.zeros((self.settings.n_epochs, self.settings.horizon), np.int64)
            made = precompile(self._round, *self._inputs(dummies))
            self._round, self.compile_s = made.function, made.seconds

    def _make_optimisers(self) -> Sequence[Optimiser]:
        rate = self.settings.rate()
        self._carried = [CarriedAdam(net.params.size, rate) for net in (self.actor, self.critic)]
        return self._carried

    def _inputs(self, orders: Any) -> tuple[Any, ...]:
        n_epochs, n = orders.shape
        per_epoch = -(-n // self.settings.minibatch)
        corrections = self._carried[0].next_corrections(n_epochs * per_epoch)
        nets = zip((self.actor, self.critic), self._carried, strict=True)
        learning = Learning(*(Side(net.params, carried.moments) for net, carried in nets))
        # JAX counts in 32 bits.
        return (
            learning,
            self._rollout.flat,
            orders.astype(np.int32),
            corrections.reshape(n_epochs, per_epoch, 2),
        )

    def _improve(self) -> None:
        inputs = self._inputs(np.array([order.copy() for order in self._orders()]))
        learning, losses = self._round(*inputs)
        n_updates = inputs[-1].shape[0] * inputs[-1].shape[1]
        for net, carried, side in zip(
            (self.actor, self.critic), self._carried, learning, strict=True
        ):
            # Waits for the round: until then JAX may read the arrays of NumPy.
            net.params[:] = np.asarray(side.params)
            carried.took(n_updates, side.moments)
        policy, value, entropy, gradient = map(float, losses)
        self.losses = policy, value, entropy
        self._require_finite(loss=policy + value, gradient=gradient)
