"""Training of a deep agent by actors and a learner, as `python -m rl_impls train` asks for it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from rl_impls.agents.agent import AgentSettings, DeepAgent
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.monitor import ProgressBar
from rl_impls.runtimes import Facts, Hook
from rl_impls.runtimes.actor_learner.actor import MakeBatch
from rl_impls.runtimes.actor_learner.settings import PRESETS, PipelineSettings
from rl_impls.runtimes.actor_learner.train import train
from rl_impls.runtimes.deep import HasAgent
from rl_impls.runtimes.machine import cores_for


def settings_by(preset: str | None, settings: AgentSettings) -> AgentSettings:
    """Those of the agent; without a preset as they are."""
    if preset is None:
        return settings
    assert isinstance(settings, DQNSettings)  # the command line lets no others in
    return PRESETS[preset].learner(settings)


def with_actors(
    arguments: Namespace,
    agent: DeepAgent,
    make_env: MakeBatch,
    hooks: Sequence[Hook[HasAgent]],
    bar: ProgressBar,
) -> dict[str, Any]:
    """Train; the fields of the result that depend on how."""
    assert isinstance(agent, DQN)  # the command line lets no others in
    n_before = agent.n_steps
    preset = arguments.preset
    n_actors = arguments.actors or 1
    pipeline = PRESETS[preset].pipeline if preset else PipelineSettings()
    settings = replace(pipeline, actors=n_actors, threads=arguments.threads, pin=arguments.pin)
    # A training that goes on must not draw what the one before it drew.
    seed = arguments.seed + n_before
    trained = train(
        agent, make_env, arguments.steps - n_before, settings, seed=seed,
        hooks=hooks, tick=lambda n: bar(n_before + n), tell=bar.say,
    )  # fmt: skip
    cores = cores_for(n_actors + 1)[1:] if arguments.pin else ()
    return {
        "steps": trained.steps,
        "seconds": trained.seconds,
        "steps_per_s": trained.steps / trained.seconds,
        "episodes": trained.episodes,
        "peak_rss_bytes": trained.peak_rss_bytes,
        **asdict(Facts("actor-learner", n_actors + 1, None, cores, arguments.threads)),
        "preset": preset,
        "drops": trained.drops,
        "waiting_s": trained.waiting_s,
        "blocked_s": trained.blocked_s,
        "mean_lag": trained.mean_lag,
        "most_lag": trained.most_lag,
    }
