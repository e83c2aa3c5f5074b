"""Training of a deep agent, alone or with actors, as `python -m rl_impls train` asks for it."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from rl_impls.agents.agent import (
    Agent,
    AgentSettings,
    DeepAgent,
    Plays,
    check_fits,
    shape_of,
)
from rl_impls.agents.dqn import DQN, PIXEL_DQN, DQNSettings
from rl_impls.agents.evaluation import SHARE, BestCheckpoint, PacedValidation, Played, play
from rl_impls.commands import arguments as accepts
from rl_impls.commands.result import ActorDetails, Outcome, Result, Speed
from rl_impls.commands.settings import changed
from rl_impls.envs.control.make import COMPILED, make_batch
from rl_impls.envs.control.step import ControlBatch
from rl_impls.errors import SettingError
from rl_impls.monitor import ProgressBar, performance_log
from rl_impls.registry import ACTOR_LEARNER_PRESETS, agent_type, make_agent, preset_for
from rl_impls.runtimes import Every, Facts, Hook, run
from rl_impls.runtimes.deep import DeepRuntime, HasAgent, Save, Validate
from rl_impls.runtimes.machine import cores_for

if TYPE_CHECKING:
    from rl_impls.runtimes.actor_learner.actor import MakeBatch

EPISODES: Final = 100
N_VALIDATIONS: Final = 40  # at most: see `validating`
N_VALIDATIONS_BY_FRAMES: Final = 10  # whoever sees frames plays slowly
VALIDATIONS_A_SAVE: Final = 4
VALIDATION_EPISODES: Final = 20
# Where episodes are long beside the training: the mean of fewer would choose by luck.
FEWEST_EPISODES: Final = 5
FEW_VALIDATIONS: Final = 4
# Far from what people choose for a training, and from each other: what was validated on decides
# nothing later.
VALIDATION_SEED: Final = 1_000_000_000
EVALUATION_SEED: Final = 2_000_000_000

Hooks = Sequence[Hook[HasAgent]]


@dataclass(frozen=True, slots=True)
class Told:
    """The parts of a result that depend on how an agent was trained."""

    speed: Speed
    peak_rss_bytes: int
    facts: Facts
    details: ActorDetails | None = None


def train(arguments: Namespace) -> Result:
    limit = accepts.batch_arguments(arguments.env)
    validation = validating(arguments)
    checkpoint = BestCheckpoint(validation, patience=arguments.patience)
    n_envs = preset_for(arguments.agent, arguments.env).n_envs
    make_env = partial(make_batch, arguments.env, n_envs, **limit)
    env = make_env(seed=arguments.seed)
    agent = _agent(arguments, env, checkpoint)
    agent.env_source = arguments.env
    # Actors have environments of their own, of which nothing is saved.
    own_env = env if arguments.runtime == "serial" else None
    n_before = agent.n_steps
    n_validations = N_VALIDATIONS_BY_FRAMES if agent.sees_frames else N_VALIDATIONS
    often = -(-(arguments.steps - n_before) // n_validations)
    hooks: list[Hook[HasAgent]] = [Validate(Every(often), checkpoint, validation)]
    if arguments.save is not None:
        seldom = Every(VALIDATIONS_A_SAVE * often)
        hooks.append(Save(seldom, arguments.save, own_env, checkpoint))
    bar = ProgressBar(f"{arguments.env} {arguments.agent}", arguments.steps, sys.stderr)
    try:
        with performance_log(arguments.log, arguments.steps - n_before) as logging:
            hooks.extend(logging)
            if own_env is not None:
                told = _in_one_process(arguments, agent, own_env, hooks, bar)
            else:
                told = _with_actors(arguments, agent, make_env, hooks, bar)
        if validation.is_affordable(agent.n_steps - n_before):
            checkpoint.judge(agent)
    finally:
        bar.close()
        # A training that never began must not replace what an earlier one saved.
        if arguments.save is not None and agent.n_steps > n_before:
            agent.save(arguments.save, own_env, checkpoint)
    checkpoint.restore_best(agent)
    return Result(
        env=arguments.env,
        agent=arguments.agent,
        backend=agent.backend,
        seed=arguments.seed,
        speed=told.speed,
        outcome=outcome(arguments, agent),
        peak_rss_bytes=told.peak_rss_bytes,
        facts=told.facts,
        details=told.details,
    )


def _agent(arguments: Namespace, env: ControlBatch, checkpoint: BestCheckpoint) -> DeepAgent:
    """Return a new agent, or the saved one, with its environments and its best so far."""
    if not arguments.resume:
        return make_agent(
            shape_of(env), settings_of(arguments), seed=arguments.seed, backend=arguments.backend
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


def settings_of(arguments: Namespace) -> AgentSettings:
    """Return the settings that a new agent is made with: of the preset, then of `--set`."""
    preset = preset_for(arguments.agent, arguments.env).settings
    settings = changed(preset, arguments.set, arguments.agent)
    if isinstance(settings, DQNSettings):
        settings = replace(settings, prioritised=arguments.prioritised or settings.prioritised)
        if arguments.preset is not None:
            settings = settings.in_larger_batches(ACTOR_LEARNER_PRESETS[arguments.preset])
    return settings


def _in_one_process(
    arguments: Namespace, agent: DeepAgent, env: ControlBatch, hooks: Hooks, bar: ProgressBar
) -> Told:
    n_before = agent.n_steps
    runtime = DeepRuntime(agent, env, pin=arguments.pin, threads=arguments.threads)
    progress = run(
        runtime, arguments.steps - n_before, hooks=hooks, tick=lambda n: bar(n_before + n)
    )
    return Told(Speed.of(progress), runtime.peak_rss_bytes(), runtime.facts)


def _with_actors(
    arguments: Namespace, agent: DeepAgent, make_env: MakeBatch, hooks: Hooks, bar: ProgressBar
) -> Told:
    # Imported here: actors and their rings need a POSIX system.
    from rl_impls.runtimes.actor_learner.settings import PipelineSettings
    from rl_impls.runtimes.actor_learner.train import train as train_by_actors

    assert isinstance(agent, DQN)  # the command line lets no others in
    n_before, n_actors = agent.n_steps, arguments.actors or 1
    settings = PipelineSettings(actors=n_actors, threads=arguments.threads, pin=arguments.pin)
    # A training that goes on must not draw what the one before it drew.
    seed = arguments.seed + n_before
    trained = train_by_actors(
        agent, make_env, arguments.steps - n_before, settings, seed=seed,
        hooks=hooks, tick=lambda n: bar(n_before + n), tell=bar.say,
    )  # fmt: skip
    cores = cores_for(n_actors + 1)[1:] if arguments.pin else ()
    rate = trained.steps / trained.seconds
    return Told(
        Speed(trained.steps, trained.seconds, rate, trained.episodes),
        trained.peak_rss_bytes,
        Facts("actor-learner", n_actors + 1, None, cores, arguments.threads),
        ActorDetails(
            arguments.preset,
            trained.drops,
            trained.waiting_s,
            trained.blocked_s,
            trained.mean_lag,
            trained.most_lag,
        ),
    )


def validating(arguments: Namespace) -> PacedValidation:
    """Return what validates this training, within its share of the steps.

    Where even a few validations of full length would take more than that, each has fewer episodes.
    """
    env, steps = arguments.env, arguments.steps
    share = SHARE if arguments.validate is None else arguments.validate
    longest, episodes = accepts.longest_episode(env), VALIDATION_EPISODES
    at_once = env in COMPILED and arguments.agent != PIXEL_DQN
    if not at_once:
        fitting = int(share * steps / (longest * FEW_VALIDATIONS))
        episodes = min(episodes, max(FEWEST_EPISODES, fitting))
    return PacedValidation(
        partial(_played, env, accepts.batch_arguments(env), episodes, VALIDATION_SEED),
        most=longest if at_once else longest * episodes,
        share=share,
    )


def outcome(arguments: Namespace, agent: Agent) -> Outcome:
    """Let the agent play the episodes that the result tells of."""
    limit = accepts.batch_arguments(arguments.env)
    played = _played(arguments.env, limit, EPISODES, EVALUATION_SEED, agent)
    return Outcome(EPISODES, float(played.returns.mean()))


def _played(env: str, limit: dict[str, int], episodes: int, seed: int, agent: Plays) -> Played:
    return play(agent, env, episodes, seed=seed, **limit)
