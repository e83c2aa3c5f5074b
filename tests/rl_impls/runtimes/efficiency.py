"""`python -m tests.rl_impls.runtimes.efficiency [ROUNDS]`: what parallel training costs.

Each round trains in two processes that share their table (parallel), in two that know nothing of
each other (apart), and in one of the latter alone, in random order. All processes live from the
first round to the last. A ratio is the median over rounds of the ratio inside a round.

parallel / apart is the price of sharing; parallel / (2 x alone) is the raw efficiency, which also
holds what two busy cores take from each other.
"""

import platform
import random
import sys
import time
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from statistics import median
from typing import NamedTuple

import numba
import numpy as np

from rl_impls.runtimes import SerialRuntime
from rl_impls.runtimes.parallel import SPAWNING, ParallelRuntime
from rl_impls.tabular import QLearner
from rl_impls.tabular.evaluate import evaluate
from tests.rl_impls.runtimes.games import player, tictactoe
from tests.rl_impls.runtimes.machine import cpu_model

AGENT = "compiled"
N_PROCESSES = 2
N_STEPS = 20_000_000  # of all processes together
WANTED = 0.95


class Single(NamedTuple):
    """A process that trains by itself."""

    process: SpawnProcess
    pipe: Connection


def train_alone(pipe: Connection, seed: int) -> None:
    learner = player(AGENT)
    runtime = SerialRuntime(learner, tictactoe(seed=seed))
    pipe.send(None)
    while n_steps := pipe.recv():
        runtime.train(n_steps)
        pipe.send(None)
    pipe.send(_played(learner))


def start_single(seed: int) -> Single:
    ours, theirs = SPAWNING.Pipe()
    process = SPAWNING.Process(target=train_alone, args=(theirs, seed), daemon=True)
    process.start()
    ours.recv()
    return Single(process, ours)


def seconds_apart(singles: list[Single]) -> float:
    begin = time.perf_counter()
    for single in singles:
        single.pipe.send(N_STEPS // N_PROCESSES)
    for single in singles:
        single.pipe.recv()
    return time.perf_counter() - begin


def seconds_parallel(runtime: ParallelRuntime) -> float:
    begin = time.perf_counter()
    assert runtime.train(N_STEPS).steps == N_STEPS
    return time.perf_counter() - begin


def measure(
    runtime: ParallelRuntime, singles: list[Single], n_rounds: int
) -> list[dict[str, float]]:
    """Steps per second of each way, round by round."""
    ways = {
        "parallel": lambda: N_STEPS / seconds_parallel(runtime),
        "apart": lambda: N_STEPS / seconds_apart(singles),
        "alone": lambda: N_STEPS / N_PROCESSES / seconds_apart(singles[:1]),
    }
    return [{way: ways[way]() for way in random.sample(list(ways), 3)} for _ in range(n_rounds)]


def render(rounds: list[dict[str, float]]) -> str:
    lines = [f"{way:24}{median(done[way] for done in rounds):>14,.0f} steps/s" for way in rounds[0]]
    for name, of, least in (
        ("parallel / apart", lambda done: done["parallel"] / done["apart"], f"wanted: {WANTED}"),
        ("parallel / (2 x alone)", lambda done: done["parallel"] / 2 / done["alone"], "raw"),
    ):
        ratios = sorted(of(done) for done in rounds)
        low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
        lines.append(
            f"{name:24}{median(ratios):>14.3f}   (quartiles {low:.3f}, {high:.3f}; {least})"
        )
    return "\n".join(lines)


def _played(learner: QLearner) -> str:
    played = evaluate(learner, tictactoe(seed=0), 10_000)
    return f"won {played.win_rate:.1%}, lost {played.loss_rate:.1%} of {played.episodes:,} games"


def main(argv: list[str]) -> None:
    n_rounds = int(argv[0]) if argv else 25
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {cpu_model()}, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}\n"
        f"python -m tests.rl_impls.runtimes.efficiency {n_rounds}: {AGENT}, "
        f"{N_PROCESSES} processes, {N_STEPS:,} steps a round, wall time"
    )
    singles = [start_single(seed) for seed in range(N_PROCESSES)]
    learner = player(AGENT)
    with ParallelRuntime(learner, tictactoe, processes=N_PROCESSES, seed=1) as runtime:
        rounds = measure(runtime, singles, n_rounds)
    print(render(rounds))
    print(f"{'parallel':24}{_played(learner)}")
    for single in singles:
        single.pipe.send(0)
        print(f"{'apart':24}{single.pipe.recv()}")
        single.process.join()


if __name__ == "__main__":
    main(sys.argv[1:])
