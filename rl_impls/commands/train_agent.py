"""Training of a deep agent, as `python -m rl_impls train` asks for it."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, Final

from rl_impls.agents.agent import Agent, AgentSettings, DeepAgent, shape_of
from rl_impls.agents.training import BestCheckpoint, check_fits, evaluate
from rl_impls.commands import arguments as accepts
from rl_impls.commands.result import PipelineResult, Result, speed_of
from rl_impls.envs.control.make import make_batch
from rl_impls.envs.control.step import ControlBatch
from rl_impls.errors import SettingError
from rl_impls.monitor import ProgressBar
from rl_impls.registry import agent_type, make_agent, preset_for
from rl_impls.runtimes import Every, Hook, run
from rl_impls.runtimes.deep import DeepRuntime, HasAgent, Save, Validate

EPISODES: Final = 100
N_VALIDATIONS: Final = 40
N_VALIDATIONS_BY_FRAMES: Final = 10  # whoever sees frames plays slowly
VALIDATIONS_A_SAVE: Final = 4
VALIDATION_EPISODES: Final = 20
# Far from what people choose for a training, and from each other: what was validated on decides
# nothing later.
VALIDATION_SEED: Final = 1_000_000_000
EVALUATION_SEED: Final = 2_000_000_000

Hooks = Sequence[Hook[HasAgent]]
Play = Callable[[int, int, Agent], float]  # so many episodes, with that seed


def train(arguments: Namespace) -> Result:
    limit = accepts.batch_arguments(arguments.env)
    play = partial(mean_return, arguments.env, limit)
    checkpoint = validating(play)
    n_envs = preset_for(arguments.agent, arguments.env).n_envs
    make_env = partial(make_batch, arguments.env, n_envs, **limit)
    env = make_env(seed=arguments.seed)
    agent = _agent(arguments, env, checkpoint)
    # Actors have environments of their own, of which nothing is saved.
    own_env = env if arguments.runtime == "serial" else None
    n_before = agent.n_steps
    n_validations = N_VALIDATIONS_BY_FRAMES if agent.sees_frames else N_VALIDATIONS
    often = -(-(arguments.steps - n_before) // n_validations)
    hooks: list[Hook[HasAgent]] = [Validate(Every(often), checkpoint)]
    if arguments.save is not None:
        seldom = Every(VALIDATIONS_A_SAVE * often)
        hooks.append(Save(seldom, arguments.save, own_env, checkpoint))
    bar = ProgressBar(f"{arguments.env} {arguments.agent}", arguments.steps, sys.stderr)
    try:
        if own_env is not None:
            told = _in_one_process(arguments, agent, own_env, hooks, bar)
        else:
            from rl_impls.commands.train_pipeline import with_actors

            told = with_actors(arguments, agent, make_env, hooks, bar)
        checkpoint.judge(agent)
    finally:
        bar.close()
        # A training that never began must not replace what an earlier one saved.
        if arguments.save is not None and agent.n_steps > n_before:
            agent.save(arguments.save, own_env, checkpoint)
    checkpoint.restore_best(agent)
    kind = Result if own_env is not None else PipelineResult
    return kind(
        env=arguments.env,
        agent=arguments.agent,
        backend=agent.backend,
        seed=arguments.seed,
        **outcome(play, agent),
        **told,
    )


def _agent(arguments: Namespace, env: ControlBatch, checkpoint: BestCheckpoint) -> DeepAgent:
    """A new one, or the saved one, with its environments and its best so far."""
    if not arguments.resume:
        return make_agent(
            shape_of(env), _settings(arguments), seed=arguments.seed, backend=arguments.backend
        )
    kind = agent_type(arguments.agent, arguments.backend)
    agent = kind.load(arguments.save, env, checkpoint)
    check_fits(agent, env)
    if agent.n_steps >= arguments.steps:
        raise SettingError(
            f"the agent in {arguments.save} has made {agent.n_steps:,} steps already: "
            "raise --steps, which counts them all."
        )
    return agent


def _settings(arguments: Namespace) -> AgentSettings:
    settings = preset_for(arguments.agent, arguments.env).settings
    if arguments.runtime == "serial":
        return settings
    # Imported where it is needed: a pipeline needs a POSIX system.
    from rl_impls.commands.train_pipeline import settings_by

    return settings_by(arguments.preset, settings)


def _in_one_process(
    arguments: Namespace, agent: DeepAgent, env: ControlBatch, hooks: Hooks, bar: ProgressBar
) -> dict[str, Any]:
    """Train; the fields of the result that depend on how."""
    n_before = agent.n_steps
    runtime = DeepRuntime(agent, env, pin=arguments.pin, threads=arguments.threads)
    progress = run(
        runtime, arguments.steps - n_before, hooks=hooks, tick=lambda n: bar(n_before + n)
    )
    return {
        **speed_of(progress),
        "peak_rss_bytes": runtime.peak_rss_bytes(),
        **asdict(runtime.facts),
    }


def validating(play: Play) -> BestCheckpoint:
    return BestCheckpoint(partial(play, VALIDATION_EPISODES, VALIDATION_SEED))


def outcome(play: Play, agent: Agent) -> dict[str, Any]:
    """The fields of the result that tell how well it plays."""
    return {
        "games": EPISODES,
        "mean_return": play(EPISODES, EVALUATION_SEED, agent),
        "win_rate": None,
        "loss_rate": None,
    }


def mean_return(
    env_name: str, limit: dict[str, int], episodes: int, seed: int, agent: Agent
) -> float:
    return float(evaluate(agent, env_name, episodes, seed=seed, **limit).mean())
