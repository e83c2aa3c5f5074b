"""`python -m rl_impls train`: train one learner, and tell how fast it was and how well it plays."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from rl_impls.commands import arguments as accepts
from rl_impls.errors import SettingError
from rl_impls.monitor.progress import ProgressBar
from rl_impls.runtimes import Progress, Runtime, SerialRuntime
from rl_impls.runtimes import run as train
from rl_impls.runtimes.runtime import MakeEnv
from rl_impls.tabular import LEARNERS, QLearner
from rl_impls.tabular.evaluate import Evaluation, evaluate

NAME: Final = "train"
HELP: Final = "train one learner; tell its speed, its memory and how well it plays"
GAMES: Final = 10_000
# Without a model, games are played one after another.
GAMES_WITHOUT_MODEL: Final = 100
STDOUT: Final = "-"


@dataclass(frozen=True, slots=True)
class Result:
    """What the JSON holds. Times are those of training: compiling and playing are left out."""

    env: str
    agent: str
    seed: int
    steps: int
    seconds: float
    steps_per_s: float
    episodes: int
    games: int  # played greedily after training; the next three are their outcome
    mean_return: float
    win_rate: float | None  # only where a game is won or lost
    loss_rate: float | None
    peak_rss_bytes: int  # the sum over all processes
    runtime: str
    processes: int
    steps_per_sync: int | None
    cores: tuple[int, ...]
    threads: int | None


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("env", metavar="ENV", help="TicTacToe-v0, or any name gymnasium knows")
    add("--agent", type=accepts.agent, required=True, metavar="NAME",
        help=", ".join(accepts.AGENTS))  # fmt: skip
    add("--runtime", type=accepts.runtime, default="serial", metavar="NAME",
        help="serial (default) or parallel")  # fmt: skip
    add("--steps", type=accepts.positive, required=True, metavar="N")
    add("--seed", type=accepts.not_negative, default=0, metavar="S")
    add("--processes", type=accepts.positive, metavar="P",
        help="of the parallel runtime (default: physical cores, 4 at most)")  # fmt: skip
    add("--steps-per-sync", type=accepts.positive, metavar="N",
        help="of a process, until it merges what it learned")  # fmt: skip
    add("--pin", action="store_true", help="a core of its own for each process")
    add("--threads", type=accepts.positive, default=1, metavar="N",
        help="of BLAS and OpenMP, in each process (default 1)")  # fmt: skip
    add("--save", type=Path, metavar="FILE",
        help="write the table, also when the training was cut short")  # fmt: skip
    add("--json", metavar="FILE", help="the result as data; - is stdout")


def run(arguments: Namespace) -> int:
    _check(arguments)
    make_env = accepts.environment(arguments.env)
    env = make_env(seed=arguments.seed)
    learner = LEARNERS[arguments.agent](env.n_states, env.n_actions, seed=arguments.seed)
    bar = ProgressBar(f"{arguments.env} {arguments.agent}", arguments.steps, sys.stderr)
    try:
        with _runtime(arguments, learner, make_env) as runtime:
            progress = train(runtime, arguments.steps, tick=bar)
            peak_rss_bytes = runtime.peak_rss_bytes()
            facts = asdict(runtime.facts)
    finally:
        bar.close()
        # A training that never began must not replace what an earlier one saved.
        if arguments.save is not None and learner.n_steps > 0:
            learner.save(arguments.save)
    played = _play(learner, make_env)
    result = Result(
        env=arguments.env,
        agent=arguments.agent,
        seed=arguments.seed,
        **_outcome(arguments.env, progress, played),
        peak_rss_bytes=peak_rss_bytes,
        **facts,
    )
    _publish(result, arguments.json)
    return 0


def _check(arguments: Namespace) -> None:
    for option in ("processes", "steps_per_sync"):
        if arguments.runtime != "parallel" and getattr(arguments, option) is not None:
            name = option.replace("_", "-")
            raise SettingError(f"--{name} belongs to --runtime parallel: give both or neither.")
    for path in (arguments.save, arguments.json):
        if path not in (None, STDOUT):
            accepts.check_place(Path(path))


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


def _play(learner: QLearner, make_env: MakeEnv) -> Evaluation:
    """On an environment of its own, with chance of its own."""
    env = make_env(seed=0)
    return evaluate(learner, env, GAMES_WITHOUT_MODEL if env.model is None else GAMES)


def _outcome(env: str, progress: Progress, played: Evaluation) -> dict[str, Any]:
    is_game = env.startswith("TicTacToe-")
    return {
        "steps": progress.done.steps,
        "seconds": progress.seconds,
        "steps_per_s": progress.steps_per_s,
        "episodes": progress.done.episodes,
        "games": played.episodes,
        "mean_return": played.mean_return,
        "win_rate": played.win_rate if is_game else None,
        "loss_rate": played.loss_rate if is_game else None,
    }


def render(result: Result) -> str:
    """For people."""
    text = (
        f"{result.steps:,} steps in {result.seconds:.3f} s: {result.steps_per_s:,.0f} steps/s, "
        f"{result.episodes:,} episodes, {result.peak_rss_bytes / 1e6:.0f} MB\n"
        f"{result.games:,} greedy games: mean return {result.mean_return:.3f}"
    )
    if result.win_rate is not None and result.loss_rate is not None:
        text += f", won {result.win_rate:.1%}, lost {result.loss_rate:.1%}"
    return text


def _publish(result: Result, target: str | None) -> None:
    data = json.dumps(asdict(result), indent=2)
    if target == STDOUT:
        print(data, flush=True)
        return
    if target is not None:
        try:
            Path(target).write_text(data + "\n", encoding="utf-8")
        except OSError as error:
            raise SettingError(
                f"the result cannot be written to {target} ({error.strerror}): name another file."
            ) from error
    print(render(result), flush=True)
