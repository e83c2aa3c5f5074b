"""A rival for our PPO: environments, rollout, advantages and updates in one function of JAX.

In the manner of PureJaxRL (Lu et al., 2022): CartPole itself is written in JAX, thousands of steps
and all updates are one call, and Python is asked for nothing in between. Settings, networks and
equations are those of `rl_impls.agents.ppo`; only the random numbers differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.agents.rollout import Flat
from rl_impls.backends.jax.agents import Learning, Side, compiled_round
from rl_impls.backends.jax.network import BETAS, Moments, NetworkSpec
from rl_impls.envs.control.cartpole import (
    DT,
    FORCE,
    GRAVITY,
    HALF_LENGTH,
    LEVER,
    PER_MASS,
    POLE_PART,
    START,
    THETA_LIMIT,
    X_LIMIT,
)
from rl_impls.nets.mlp import MLP
from rl_impls.registry import time_limit


class Carts(NamedTuple):
    state: Any  # (n_envs, 4)
    elapsed: Any  # (n_envs,)


class Seen(NamedTuple):
    """One step of all environments; over time, a rollout."""

    obs_tm1: Any
    actions: Any
    log_probs: Any
    r_t: Any
    terminated: Any
    ended: Any
    obs_t: Any


class Trainer(NamedTuple):
    learning: Learning
    carts: Carts
    key: Any
    n_updates: Any


@dataclass(frozen=True, slots=True)
class Task:
    settings: PPOSettings
    n_envs: int
    actor: NetworkSpec
    critic: NetworkSpec

    @property
    def n_steps(self) -> int:
        """Of an environment between two rounds of learning."""
        return self.settings.horizon // self.n_envs


def fresh_state(key: Any) -> Any:
    return jax.random.uniform(key, (4,), minval=-START, maxval=START)


def moved(state: Any, action: Any) -> tuple[Any, Any]:
    """One step of CartPole, and whether it fell; see `rl_impls.envs.control.cartpole`."""
    x, x_dot, theta, theta_dot = state
    sin, cos = jnp.sin(theta), jnp.cos(theta)
    push = jnp.where(action == 1, FORCE, -FORCE) * PER_MASS + LEVER * theta_dot**2 * sin
    theta_acc = (GRAVITY * sin - cos * push) / (HALF_LENGTH * (4.0 / 3.0 - POLE_PART * cos**2))
    x_acc = push - LEVER * theta_acc * cos
    now = jnp.stack(
        [x + DT * x_dot, x_dot + DT * x_acc, theta + DT * theta_dot, theta_dot + DT * theta_acc]
    )
    return now, (jnp.abs(now[0]) > X_LIMIT) | (jnp.abs(now[2]) > THETA_LIMIT)


def collected(task: Task, trainer: Trainer) -> tuple[Carts, Any, Seen]:
    """Steps of all environments with the present actor; one that ends begins again."""
    layers = task.actor.layers(trainer.learning.actor.params)

    def step(carried: tuple[Carts, Any], _: Any) -> tuple[tuple[Carts, Any], Seen]:
        carts, key = carried
        key, acting, beginning = jax.random.split(key, 3)
        logits = jax.vmap(task.actor.row, in_axes=(None, 0))(layers, carts.state)
        actions = jax.random.categorical(acting, logits)
        log_probs = jax.nn.log_softmax(logits)
        chosen = jnp.take_along_axis(log_probs, actions[:, None], axis=1)[:, 0]
        state, fell = jax.vmap(moved)(carts.state, actions)
        elapsed = carts.elapsed + 1
        ended = fell | (elapsed >= time_limit("rl_impls/CartPole-v1"))
        fresh = jax.vmap(fresh_state)(jax.random.split(beginning, task.n_envs))
        following = Carts(jnp.where(ended[:, None], fresh, state), jnp.where(ended, 0, elapsed))
        seen = Seen(carts.state, actions, chosen, jnp.ones(task.n_envs), fell, ended, state)
        return (following, key), seen

    (carts, key), seen = jax.lax.scan(step, (trainer.carts, trainer.key), None, task.n_steps)
    return carts, key, seen


def advantages_of(task: Task, seen: Seen, v_tm1: Any, v_t: Any) -> Any:
    """Generalised advantage estimation; see `rl_impls.agents.rollout.gae`."""
    settings = task.settings
    follows = settings.discount * v_t * ~seen.terminated
    deltas = seen.r_t + follows - v_tm1
    kept = settings.discount * settings.trace * ~seen.ended

    def back(after: Any, now: tuple[Any, Any]) -> tuple[Any, Any]:
        advantage = now[0] + now[1] * after
        return advantage, advantage

    return jax.lax.scan(back, jnp.zeros(task.n_envs), (deltas, kept), reverse=True)[1]


def corrections(task: Task, first: Any, n: int) -> Any:
    """Of the next `n` steps of Adam; see `rl_impls.nets.optimisers.corrections`."""
    t = first + 1.0 + jnp.arange(n)
    one, two = (-jnp.expm1(t * math.log(beta)) for beta in BETAS)
    return jnp.stack([task.settings.learning_rate / one, 1.0 / jnp.sqrt(two)], axis=1)


def played_round(task: Task, trainer: Trainer) -> Trainer:
    settings = task.settings
    carts, key, seen = collected(task, trainer)
    critic = task.critic.layers(trainer.learning.critic.params)
    value = jax.vmap(jax.vmap(task.critic.row, in_axes=(None, 0)), in_axes=(None, 0))
    v_tm1, v_t = value(critic, seen.obs_tm1)[..., 0], value(critic, seen.obs_t)[..., 0]
    advantages = advantages_of(task, seen, v_tm1, v_t)
    arrays = (seen.obs_tm1, seen.actions, seen.log_probs, advantages, v_tm1)
    n = settings.horizon
    flat = Flat(*(array.reshape(n, *array.shape[2:]) for array in arrays))
    key, shuffling = jax.random.split(key)
    epochs = jax.random.split(shuffling, settings.n_epochs)
    orders = jax.vmap(lambda each: jax.random.permutation(each, n))(epochs)
    per_epoch = -(-n // settings.minibatch)
    n_updates = settings.n_epochs * per_epoch
    steps = corrections(task, trainer.n_updates, n_updates)
    learn = compiled_round((task.actor, task.critic), settings)
    learning, _ = learn(
        trainer.learning, flat, orders, steps.reshape(settings.n_epochs, per_epoch, 2)
    )
    return Trainer(learning, carts, key, trainer.n_updates + n_updates)


def jitted_training(task: Task, n_rounds: int) -> Any:
    """Of a trainer, what it is after `n_rounds` of `horizon` steps."""

    def train(trainer: Trainer) -> Any:
        return jax.lax.scan(
            lambda now, _: (played_round(task, now), None), trainer, None, n_rounds
        )[0]

    return jax.jit(train)


def beginning(agent: PPO, seed: int) -> tuple[Task, Trainer]:
    """From the weights of an agent of ours."""
    assert isinstance(agent.actor, MLP)
    actor, critic = (NetworkSpec.of(net) for net in (agent.actor, agent.critic))
    n_envs = agent.shape.n_envs
    key, carts_key = jax.random.split(jax.random.key(seed))
    sides = [
        Side(jnp.array(net.params, copy=True), Moments(*jnp.zeros((2, net.params.size))))
        for net in (agent.actor, agent.critic)
    ]
    states = jax.vmap(fresh_state)(jax.random.split(carts_key, n_envs))
    carts = Carts(states, jnp.zeros(n_envs, jnp.int32))
    trainer = Trainer(Learning(*sides), carts, key, jnp.float32(0.0))
    return Task(agent.settings, n_envs, actor, critic), trainer
