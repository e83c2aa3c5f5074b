"""Training of a deep agent, as `python -m rl_impls train` asks for it."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import asdict
from functools import partial
from typing import Final

from rl_impls.agents.agent import Agent, shape_of
from rl_impls.agents.by_name import make_agent
from rl_impls.agents.checkpoint import BestCheckpoint
from rl_impls.agents.evaluation import evaluate
from rl_impls.agents.presets import preset_for
from rl_impls.commands import arguments as accepts
from rl_impls.commands.result import Result, speed_of
from rl_impls.envs.control.make import make_batch
from rl_impls.monitor.progress import ProgressBar
from rl_impls.runtimes import Every, run
from rl_impls.runtimes.deep import DeepRuntime, Validate

EPISODES: Final = 100
N_VALIDATIONS: Final = 40
VALIDATION_EPISODES: Final = 20
# Far from what people choose for a training, and from each other: what was validated on decides
# nothing later.
VALIDATION_SEED: Final = 1_000_000_000
EVALUATION_SEED: Final = 2_000_000_000


def train(arguments: Namespace) -> Result:
    limit = accepts.batch_arguments(arguments.env)
    preset = preset_for(arguments.agent, arguments.env)
    env = make_batch(arguments.env, preset.n_envs, seed=arguments.seed, **limit)
    agent = make_agent(shape_of(env), preset.settings, seed=arguments.seed)
    play = partial(_mean_return, arguments.env, limit)
    checkpoint = BestCheckpoint(partial(play, VALIDATION_EPISODES, VALIDATION_SEED))
    validate = Validate(Every(-(-arguments.steps // N_VALIDATIONS)), checkpoint)
    runtime = DeepRuntime(agent, env, pin=arguments.pin, threads=arguments.threads)
    bar = ProgressBar(f"{arguments.env} {arguments.agent}", arguments.steps, sys.stderr)
    try:
        progress = run(runtime, arguments.steps, hooks=[validate], tick=bar)
        peak_rss_bytes = runtime.peak_rss_bytes()
        checkpoint.judge(agent)
    finally:
        bar.close()
        # A training that never began must not replace what an earlier one saved.
        if arguments.save is not None and agent.n_steps > 0:
            agent.save(arguments.save, env, checkpoint)
    checkpoint.restore_best(agent)
    return Result(
        env=arguments.env,
        agent=arguments.agent,
        seed=arguments.seed,
        **speed_of(progress),
        games=EPISODES,
        mean_return=play(EPISODES, EVALUATION_SEED, agent),
        win_rate=None,
        loss_rate=None,
        peak_rss_bytes=peak_rss_bytes,
        **asdict(runtime.facts),
    )


def _mean_return(
    env_name: str, limit: dict[str, int], episodes: int, seed: int, agent: Agent
) -> float:
    return float(evaluate(agent, env_name, episodes, seed=seed, **limit).mean())
