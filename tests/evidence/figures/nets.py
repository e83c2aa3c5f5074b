"""`python -m tests.evidence.figures.nets [ROUNDS]`: activations and layer sizes, quickest first.

Every round runs all contestants once, in random order; a ratio is the median over rounds of the
ratio to the quickest inside a round.
"""

import random
import sys
import time
from collections.abc import Sequence
from statistics import median

import numpy as np

from rl_impls.nets.mlp import MLP
from rl_impls.nets.plain import ACTIVATIONS
from rl_impls.runtimes.machine import cap_threads
from tests.evidence.figures.machine import circumstances

BATCH_SIZE = 256
N_TIMES = 100
WIDTHS = (32, 64, 128, 256, 512)


def seconds_of(mlp: MLP) -> float:
    """CPU time of one pass there and back."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((BATCH_SIZE, mlp.weights[0].shape[0]), dtype=np.float32)
    grad = np.ones((BATCH_SIZE, mlp.weights[-1].shape[1]), np.float32)
    mlp.forward(x)
    mlp.backward(grad)
    begin = time.process_time()
    for _ in range(N_TIMES):
        mlp.forward(x)
        mlp.backward(grad)
    return (time.process_time() - begin) / N_TIMES


def contestants() -> dict[str, dict[str, MLP]]:
    return {
        "activation, 4-64-64-2": {
            name: MLP((4, 64, 64, 2), activation=name, max_batch=BATCH_SIZE, seed=0)
            for name in ACTIVATIONS
        },
        "hidden layers, relu": {
            f"{width} x {width}": MLP((4, width, width, 2), max_batch=BATCH_SIZE, seed=0)
            for width in WIDTHS
        },
    }


def measure(nets: dict[str, MLP], n_rounds: int) -> list[dict[str, float]]:
    return [
        {name: seconds_of(nets[name]) for name in random.sample(sorted(nets), len(nets))}
        for _ in range(n_rounds)
    ]


def ranking(rounds: Sequence[dict[str, float]]) -> list[tuple[str, float, float]]:
    """Name, median seconds, and ratio to the quickest; quickest first."""
    seconds = {name: median(done[name] for done in rounds) for name in rounds[0]}
    names = sorted(seconds, key=lambda name: seconds[name])
    return [
        (name, seconds[name], median(done[name] / done[names[0]] for done in rounds))
        for name in names
    ]


def main(argv: list[str]) -> None:
    n_rounds = int(argv[0]) if argv else 7
    print(
        f"{circumstances()}\npython -m tests.evidence.figures.nets {n_rounds}: forward and "
        f"backward, {BATCH_SIZE} rows, medians of {n_rounds} rounds, CPU time, one thread"
    )
    with cap_threads(1):
        for title, nets in contestants().items():
            print(title)
            for name, seconds, ratio in ranking(measure(nets, n_rounds)):
                print(f"  {name:14}{1e6 * seconds:>9.1f} µs{ratio:>8.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
