"""The contestants of `rl_impls`."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import gymnasium
import numpy as np

from rl_impls.agents.agent import AgentSettings, Plays, shape_of, train
from rl_impls.agents.evaluation import BestCheckpoint, evaluate
from rl_impls.agents.sac import SAC
from rl_impls.envs.control.make import make_batch
from rl_impls.registry import make_agent
from rl_impls.replay.layout import Transitions
from rl_impls.replay.prioritised import PrioritisedReplay
from rl_impls.replay.uniform import UniformReplay
from rl_impls.runtimes import Every, run
from rl_impls.runtimes.deep import DeepRuntime, Validate
from rl_impls.runtimes.machine import cap_threads
from tests.evidence.figures.envs import run_batch, run_single
from tests.evidence.peers import hyper
from tests.evidence.peers.measured import Measured, rate_of, rates_of
from tests.evidence.peers.sizes import Sizes

OWN, GYMNASIUM = "rl_impls/CartPole-v1", "CartPole-v1"
VALIDATION_SEED, EVALUATION_SEED = 1_000_000_000, 2_000_000_000
OBS_SIZE: Final = 4


def judged_by(agent: Plays) -> float:
    """Both sides are validated on the same episodes, of the compiled environment: it is quicker."""
    return float(evaluate(agent, OWN, 20, seed=VALIDATION_SEED).mean())


def end_to_end(
    settings: AgentSettings, n_envs: int, n_steps: int, env_name: str, sizes: Sizes, seed: int
) -> Measured:
    env = make_batch(env_name, n_envs, seed=seed)
    agent = make_agent(shape_of(env), settings, seed=seed)
    best = BestCheckpoint(judged_by)
    runtime = DeepRuntime(agent, env, threads=1)
    validate = Validate(Every(n_steps // sizes.n_validations), best)
    progress = run(runtime, n_steps, hooks=[validate], clock=time.process_time)
    best.restore_best(agent)
    played = evaluate(agent, OWN, sizes.episodes, seed=EVALUATION_SEED)
    return Measured(progress.steps_per_s, float(played.mean()))


def ppo(env_name: str, sizes: Sizes, seed: int) -> Measured:
    return end_to_end(hyper.PPO, hyper.N_ENVS, sizes.ppo_steps, env_name, sizes, seed)


def dqn(env_name: str, sizes: Sizes, seed: int) -> Measured:
    return end_to_end(hyper.DQN, 1, sizes.dqn_steps, env_name, sizes, seed)


def filled(settings: AgentSettings, env_name: str, seed: int) -> Any:
    """An agent with a replay to learn from, on the point of learning."""
    env = make_batch(env_name, 1, seed=seed)
    agent = make_agent(shape_of(env), settings, seed=seed)
    train(agent, env, 999)
    return agent


def dqn_updates(sizes: Sizes, seed: int) -> Measured:
    return Measured(rate_of(filled(hyper.DQN, OWN, seed).update, sizes.dqn_updates))


def sac_updates(sizes: Sizes, seed: int) -> Measured:
    agent = filled(hyper.SAC, "rl_impls/Pendulum-v1", seed)
    per_s = rate_of(agent.update, sizes.sac_updates)
    return Measured(per_s, share=per_s * flop_of_update(agent) / matmul_flop_per_s())


def flop_of_update(agent: SAC) -> float:
    """Of the matrix products: 4 passes' worth of the actor, 14 of a critic; backward counts two.

    The actor goes forward twice and back once. Critics: both targets forward; both forward and
    back, for their own sake and for the actor's.
    """
    n = agent.settings.batch
    by_actor, by_critic = (
        2.0 * n * sum(weight.size for weight in net.weights)
        for net in (agent.actor, agent.critics[0])
    )
    return 4 * by_actor + 14 * by_critic


def matmul_flop_per_s(size: int = 256, n: int = 2000) -> float:
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((2, size, size), dtype=np.float32)
    out = np.zeros_like(left)
    return rate_of(lambda: np.matmul(left, right, out=out), n) * 2.0 * size**3


def stored(replay: UniformReplay | PrioritisedReplay, n: int) -> Any:
    rng = np.random.default_rng(0)
    obs_tm1, obs_t = rng.standard_normal((2, n, OBS_SIZE), dtype=np.float32)
    r_t = np.ones(n, np.float32)
    replay.add_batch(Transitions(obs_tm1, np.zeros(n, np.int64), r_t, obs_t, np.zeros(n, bool)))
    return replay


def sample(batch_size: int, sizes: Sizes, seed: int) -> Measured:
    replay = UniformReplay(sizes.n_stored, OBS_SIZE, batch_size=batch_size, seed=seed)
    return Measured(rate_of(stored(replay, sizes.n_stored).sample, sizes.samples))


def prioritised(batch_size: int, sizes: Sizes, seed: int) -> Measured:
    """Beside uniform sampling, in turns: where the memory of a process lies counts for both."""
    n = sizes.n_prioritised
    made = {"batch_size": batch_size, "seed": seed}
    replay = stored(PrioritisedReplay(n, OBS_SIZE, **made), n)
    uniform = stored(UniformReplay(n, OBS_SIZE, **made), n)
    errors = np.random.default_rng(seed).exponential(size=batch_size)
    for _ in range(sizes.samples):  # priorities that differ, as they do in a training
        replay.update(replay.sample().indices, errors)
    own, beside = rates_of([replay.sample, uniform.sample], sizes.samples)
    return Measured(own, beside_per_s=beside)


def cartpole(sizes: Sizes, seed: int) -> Measured:
    return Measured(run_batch(OWN))


def gymnasium_cartpole(sizes: Sizes, seed: int) -> Measured:
    return Measured(run_single(gymnasium.make(GYMNASIUM), 2))


Contestant = Callable[[Sizes, int], Measured]
OURS: Final[dict[str, Contestant]] = {
    "ppo": partial(ppo, OWN),
    "ppo, gymnasium": partial(ppo, GYMNASIUM),
    "dqn": partial(dqn, OWN),
    "dqn, gymnasium": partial(dqn, GYMNASIUM),
    "dqn updates": dqn_updates,
    "sac updates": sac_updates,
    "sample 32": partial(sample, 32),
    "sample 256": partial(sample, 256),
    "prioritised 32": partial(prioritised, 32),
    "prioritised 256": partial(prioritised, 256),
    "cartpole": cartpole,
    "gymnasium cartpole": gymnasium_cartpole,
}


def measure(name: str, sizes: Sizes, seed: int) -> Measured:
    with cap_threads(1):
        return OURS[name](sizes, seed)
