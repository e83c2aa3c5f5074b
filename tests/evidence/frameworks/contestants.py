"""What each contestant does once, in a process of its own; frameworks are imported by their own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from rl_impls.agents.agent import shape_of, train
from rl_impls.agents.dqn import DQNSettings, PixelSettings
from rl_impls.agents.evaluation import evaluate
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.envs.control.make import make_batch
from rl_impls.registry import agent_type, preset_for
from tests.evidence.frameworks.rows import JAX_SIDES
from tests.evidence.peers.measured import Measured, rate_of

CARTPOLE, SIDE_SCROLLER = "rl_impls/CartPole-v1", "rl_impls/SideScroller-v0"
N_ENVS: Final = 8


@dataclass(frozen=True, slots=True)
class Sizes:
    updates: int
    rounds: int  # of PPO
    frame_updates: int
    calls: int  # of a function of JAX with the smallest matrix
    train_steps: int
    episodes: int


SIZES: Final = {
    "full": Sizes(2000, 10, 60, 4000, 102_400, 100),
    "tiny": Sizes(5, 1, 2, 4, 4096, 5),
}


def first_call_s(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def dqn(hidden: tuple[int, ...], backend: str, way: Any, sizes: Sizes, seed: int) -> Measured:
    options = {}
    if way:
        from rl_impls.backends.torch.computing import Computing

        options["computing"] = Computing(**way)
    env = make_batch(CARTPOLE, N_ENVS, seed=seed)
    settings = DQNSettings(hidden=hidden, buffer=4096, learning_starts=10**9)
    kind: Any = agent_type("dqn", backend)
    agent = kind(shape_of(env), settings, seed=seed, **options)
    train(agent, env, 4096)
    compile_s = first_call_s(agent.update)
    return Measured(rate_of(agent.update, sizes.updates), compile_s=compile_s)


def ppo(backend: str, sizes: Sizes, seed: int) -> Measured:
    """By rounds of learning from one and the same rollout."""
    env = make_batch(CARTPOLE, N_ENVS, seed=seed)
    settings = PPOSettings()
    kind: Any = agent_type("ppo", backend)
    agent = kind(shape_of(env), settings, seed=seed)
    compile_s = first_call_s(lambda: train(agent, env, settings.horizon))
    following = env.obs.copy()
    per_round = settings.n_epochs * -(-settings.horizon // settings.minibatch)
    rate = rate_of(partial(agent.learn_round, following), sizes.rounds)
    return Measured(per_round * rate, compile_s=compile_s)


def pixels(way: Any, sizes: Sizes, seed: int) -> Measured:
    from rl_impls.backends.torch.computing import Computing
    from rl_impls.backends.torch.pixel_dqn import PixelDQN

    env = make_batch(SIDE_SCROLLER, 1, seed=seed)
    settings = PixelSettings(buffer=1000, learning_starts=10**9)
    agent = PixelDQN(shape_of(env), settings, seed=seed, computing=Computing(**way))
    train(agent, env, 400)
    agent.follow()
    compile_s = first_call_s(agent.update)
    return Measured(rate_of(agent.update, sizes.frame_updates), compile_s=compile_s)


def jax_size(side: int, sizes: Sizes, seed: int) -> Measured:
    import jax
    import jax.numpy as jnp

    from rl_impls.backends.jax.network import precompile

    x = jnp.asarray(np.random.default_rng(seed).standard_normal((side, side), np.float32))
    made = precompile(jax.jit(lambda x: jnp.tanh(x @ x)), x)
    calls = max(3, sizes.calls * JAX_SIDES[0] ** 2 // side**2)
    rate = rate_of(lambda: made.function(x).block_until_ready(), calls)
    return Measured(rate, compile_s=made.seconds)


def ours_on_cartpole(sizes: Sizes, seed: int) -> Measured:
    env = make_batch(CARTPOLE, N_ENVS, seed=seed)
    agent = cartpole_agent(seed)
    compile_s = first_call_s(lambda: train(cartpole_agent(seed), env, agent.settings.horizon))
    begin = time.process_time()
    n_steps = train(agent, env, sizes.train_steps)
    rate = n_steps / (time.process_time() - begin)
    return Measured(rate, played(agent, sizes), compile_s=compile_s)


def jitted_on_cartpole(sizes: Sizes, seed: int) -> Measured:
    import jax

    from rl_impls.backends.jax.network import precompile
    from tests.evidence.frameworks.jitted_ppo import beginning, jitted_training

    agent = cartpole_agent(seed)
    task, trainer = beginning(agent, seed)
    n_rounds = sizes.train_steps // task.settings.horizon
    made = precompile(jitted_training(task, n_rounds), trainer)
    begin = time.process_time()
    trained = jax.block_until_ready(made.function(trainer))
    rate = n_rounds * task.settings.horizon / (time.process_time() - begin)
    for array, side in zip(agent.parameters(), trained.learning, strict=True):
        array[:] = np.asarray(side.params)
    return Measured(rate, played(agent, sizes), compile_s=made.seconds)


def cartpole_agent(seed: int) -> PPO:
    settings = preset_for("ppo", CARTPOLE).settings
    assert isinstance(settings, PPOSettings)
    return PPO(shape_of(make_batch(CARTPOLE, N_ENVS)), replace(settings), seed=seed)


def played(agent: PPO, sizes: Sizes) -> float:
    """At the end of the training: neither side looks for its best moment."""
    return float(evaluate(agent, CARTPOLE, sizes.episodes, seed=2_000_000_000).mean())


COMPILED, MIXED = {"compiled": True}, {"precision": "mixed"}
_BACKENDS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "numpy": ("numpy", {}),
    "torch": ("torch", {}),
    "torch compiled": ("torch", COMPILED),
    "torch mixed": ("torch", MIXED),
    "jax": ("jax", {}),
}
CONTESTANTS: Final[dict[str, Callable[[Sizes, int], Measured]]] = {
    **{f"dqn {name}": partial(dqn, (64, 64), *how) for name, how in _BACKENDS.items()},
    **{f"wide dqn {name}": partial(dqn, (256, 256), *how) for name, how in _BACKENDS.items()},
    **{f"ppo {name}": partial(ppo, name) for name in ("numpy", "torch", "jax")},
    "pixels": partial(pixels, {}),
    "pixels compiled": partial(pixels, COMPILED),
    "pixels mixed": partial(pixels, MIXED),
    "pixels compiled mixed": partial(pixels, COMPILED | MIXED),
    **{f"jax {side}": partial(jax_size, side) for side in JAX_SIDES},
    "cartpole ours": ours_on_cartpole,
    "cartpole jitted": jitted_on_cartpole,
}


def measure(name: str, sizes: str, seed: int) -> Measured:
    return CONTESTANTS[name](SIZES[sizes], seed)
