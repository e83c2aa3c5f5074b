"""Training of a learner of a table, as `python -m rl_impls train` asks for it."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Final

from rl_impls.commands import arguments as accepts
from rl_impls.commands.result import Result, speed_of
from rl_impls.monitor import ProgressBar
from rl_impls.runtimes import Runtime, SerialRuntime, run
from rl_impls.runtimes.run import MakeEnv
from rl_impls.tabular import LEARNERS, QLearner
from rl_impls.tabular.training import Evaluation, evaluate

GAMES: Final = 10_000
# Without a model, games are played one after another.
GAMES_WITHOUT_MODEL: Final = 100


def train(arguments: Namespace) -> Result:
    make_env = accepts.environment(arguments.env)
    env = make_env(seed=arguments.seed)
    learner = LEARNERS[arguments.agent](env.n_states, env.n_actions, seed=arguments.seed)
    bar = ProgressBar(f"{arguments.env} {arguments.agent}", arguments.steps, sys.stderr)
    try:
        with _runtime(arguments, learner, make_env) as runtime:
            progress = run(runtime, arguments.steps, tick=bar)
            peak_rss_bytes = runtime.peak_rss_bytes()
            facts = asdict(runtime.facts)
    finally:
        bar.close()
        # A training that never began must not replace what an earlier one saved.
        if arguments.save is not None and learner.n_steps > 0:
            learner.save(arguments.save)
    played = play(learner, make_env)
    return Result(
        env=arguments.env,
        agent=arguments.agent,
        backend=None,
        seed=arguments.seed,
        **speed_of(progress),
        **outcome(arguments.env, played),
        peak_rss_bytes=peak_rss_bytes,
        **facts,
    )


@contextmanager
def _runtime(arguments: Namespace, learner: QLearner, make_env: MakeEnv) -> Iterator[Runtime]:
    if arguments.runtime == "serial":
        env = make_env(seed=arguments.seed)
        yield SerialRuntime(learner, env, pin=arguments.pin, threads=arguments.threads)
        return
    from rl_impls.runtimes.parallel import ParallelRuntime

    with ParallelRuntime(
        learner,
        make_env,
        processes=arguments.processes,
        steps_per_sync=arguments.steps_per_sync,
        pin=arguments.pin,
        threads=arguments.threads,
        seed=arguments.seed,
    ) as runtime:
        yield runtime


def play(learner: QLearner, make_env: MakeEnv) -> Evaluation:
    """On an environment of its own, with chance of its own."""
    env = make_env(seed=0)
    return evaluate(learner, env, GAMES_WITHOUT_MODEL if env.model is None else GAMES)


def outcome(env: str, played: Evaluation) -> dict[str, Any]:
    is_game = env.startswith("TicTacToe-")
    return {
        "games": played.episodes,
        "mean_return": played.mean_return,
        "win_rate": played.win_rate if is_game else None,
        "loss_rate": played.loss_rate if is_game else None,
    }
