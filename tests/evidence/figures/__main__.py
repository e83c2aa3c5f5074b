"""`python -m tests.evidence.figures [ROUNDS]`: ratios of speed, interleaved in one run.

Every round runs all contestants once, in random order; a ratio is the median over rounds of the
ratio inside a round, so that a slow minute hits both its sides.
"""

import random
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from tests.evidence.figures.contestants import (
    FLAGS,
    Run,
    build_c,
    run_batched,
    run_c,
    run_compiled,
    run_learner,
)  # fmt: skip
from tests.evidence.figures.machine import circumstances

N_COMPILED = 10_000_000
N_BATCHED = 1_000_000
N_PYTHON = {"list": 30_000, "optimal": 120_000}
# Name of the ratio, its two sides, and the least it should be.
RATIOS = (
    ("compiled / C", "compiled", "C", 0.95),
    ("optimal / list", "optimal", "list", 2.0),
    ("batched (128) / list", "batched", "list", 20.0),
)


def contestants(folder: Path) -> dict[str, Callable[[], Run]]:
    runs: dict[str, Callable[[], Run]] = {
        "compiled": lambda: run_compiled(N_COMPILED),
        "batched": lambda: run_batched(N_BATCHED),
    }
    for name, n_steps in N_PYTHON.items():
        runs[name] = partial(run_learner, name, n_steps)
    program = build_c(folder)
    if program is None:
        print("no gcc: the C loop is left out; install gcc for its ratio.")
    else:
        runs["C"] = lambda: run_c(program, N_COMPILED)
    return runs


def measure(runs: dict[str, Callable[[], Run]], n_rounds: int) -> list[dict[str, Run]]:
    rounds = []
    for _ in range(n_rounds):
        order = random.sample(sorted(runs), len(runs))
        rounds.append({name: runs[name]() for name in order})
        check_same_games(rounds[-1])
    return rounds


def check_same_games(done: dict[str, Run]) -> None:
    if "C" in done and done["C"].episodes != done["compiled"].episodes:
        raise SystemExit(
            f"compiled ended {done['compiled'].episodes} games and C {done['C'].episodes}: they do "
            "not do the same work, so their speeds cannot be compared."
        )


def render(rounds: list[dict[str, Run]]) -> str:
    text = [f"{'':22}{'steps/s':>14}"]
    text += [
        f"{name:22}{median(done[name].steps_per_s for done in rounds):>14,.0f}"
        for name in sorted(rounds[0])
    ]
    for name, top, bottom, least in RATIOS:
        if {top, bottom} <= set(rounds[0]):
            ratios = [done[top].steps_per_s / done[bottom].steps_per_s for done in rounds]
            spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
            text.append(f"{name:22}{median(ratios):>14.2f}   ({spread}; wanted: {least:g})")
    return "\n".join(text)


def main(argv: list[str]) -> None:
    n_rounds = int(argv[0]) if argv else 7
    print(
        f"{circumstances()}, gcc {' '.join(FLAGS)}\npython -m tests.evidence.figures {n_rounds}: "
        f"medians of {n_rounds} rounds, CPU time"
    )
    with tempfile.TemporaryDirectory() as folder:
        print(render(measure(contestants(Path(folder)), n_rounds)))


if __name__ == "__main__":
    main(sys.argv[1:])
