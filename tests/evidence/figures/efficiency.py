"""`python -m tests.evidence.figures.efficiency [ROUNDS [STEPS]]`: what parallel training costs.

Each round trains in two processes that share their table (parallel), in two that know nothing of
each other (apart), and in one of the latter alone, in random order. All processes live from the
first round to the last. A ratio is the median over rounds of the ratio inside a round.

parallel / apart is the price of sharing; "apart" is done when the slower one is. "apart, summed"
adds the speeds of both, as if neither ever waited: a noisy machine lets no division of a number of
steps reach it. parallel / (2 x alone) is the raw efficiency, which also holds what two busy cores
take from each other.
"""

import random
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from statistics import median
from typing import NamedTuple

from rl_impls.runtimes import SerialRuntime
from rl_impls.runtimes.parallel import ParallelRuntime
from rl_impls.runtimes.processes import SPAWNING
from rl_impls.tabular import QLearner
from rl_impls.tabular.training import evaluate
from tests.evidence.figures.machine import circumstances
from tests.rl_impls.runtimes.games import player, tictactoe

AGENT = "compiled"
N_PROCESSES = 2
N_STEPS = 100_000_000  # of all processes together, a second and a half
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
        begin = time.perf_counter()
        runtime.train(n_steps)
        pipe.send(time.perf_counter() - begin)
    pipe.send(_played(learner))


def start_single(seed: int) -> Single:
    ours, theirs = SPAWNING.Pipe()
    process = SPAWNING.Process(target=train_alone, args=(theirs, seed), daemon=True)
    process.start()
    ours.recv()
    return Single(process, ours)


def speeds_apart(singles: list[Single], total: int) -> tuple[float, float]:
    """Steps per second until all are done, and the sum of each one's own."""
    n_steps = total // N_PROCESSES
    begin = time.perf_counter()
    for single in singles:
        single.pipe.send(n_steps)
    own_seconds = [single.pipe.recv() for single in singles]
    whole = len(singles) * n_steps / (time.perf_counter() - begin)
    return whole, sum(n_steps / seconds for seconds in own_seconds)


def speed_parallel(runtime: ParallelRuntime, total: int) -> float:
    begin = time.perf_counter()
    assert runtime.train(total).steps == total
    return total / (time.perf_counter() - begin)


def measure(
    runtime: ParallelRuntime, singles: list[Single], n_rounds: int, total: int
) -> list[dict[str, float]]:
    """Steps per second of each way, round by round."""
    ways: dict[str, Callable[[], dict[str, float]]] = {
        "parallel": lambda: {"parallel": speed_parallel(runtime, total)},
        "apart": lambda: dict(
            zip(("apart", "apart, summed"), speeds_apart(singles, total), strict=True)
        ),
        "alone": lambda: {"alone": speeds_apart(singles[:1], total)[0]},
    }
    rounds = []
    for _ in range(n_rounds):
        done: dict[str, float] = {}
        for way in random.sample(sorted(ways), len(ways)):
            done |= ways[way]()
        rounds.append(done)
    return rounds


def render(rounds: list[dict[str, float]]) -> str:
    lines = [
        f"{way:26}{median(done[way] for done in rounds):>12,.0f} steps/s"
        for way in sorted(rounds[0])
    ]
    for title, other, times, note in (
        ("parallel / apart", "apart", 1, f"wanted: {WANTED}"),
        ("parallel / apart, summed", "apart, summed", 1, f"wanted: {WANTED}"),
        ("parallel / (2 x alone)", "alone", N_PROCESSES, "raw efficiency"),
    ):
        ratios = sorted(done["parallel"] / times / done[other] for done in rounds)
        low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
        spread = f"quartiles {low:.3f}, {high:.3f}"
        lines.append(f"{title:26}{median(ratios):>12.3f}   ({spread}; {note})")
    return "\n".join(lines)


def _played(learner: QLearner) -> str:
    played = evaluate(learner, tictactoe(seed=0), 10_000)
    return f"won {played.win_rate:.1%}, lost {played.loss_rate:.1%} of {played.episodes:,} games"


def main(argv: list[str]) -> None:
    n_rounds, total = map(int, [*argv, *("25", str(N_STEPS))[len(argv) :]])
    print(
        f"{circumstances()}\npython -m tests.evidence.figures.efficiency {n_rounds} {total}: "
        f"{AGENT}, {N_PROCESSES} processes, {total:,} steps a round, wall time"
    )
    singles = [start_single(seed) for seed in range(N_PROCESSES)]
    learner = player(AGENT)
    with ParallelRuntime(learner, tictactoe, processes=N_PROCESSES, seed=1) as runtime:
        rounds = measure(runtime, singles, n_rounds, total)
    print(render(rounds))
    print(f"{'parallel':26}{_played(learner)}")
    for single in singles:
        single.pipe.send(0)
        print(f"{'apart':26}{single.pipe.recv()}")
        single.process.join()


if __name__ == "__main__":
    main(sys.argv[1:])
