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
    run_taxi,
)  # fmt: skip
from tests.evidence.figures.machine import circumstances

N_COMPILED = 20_000_000
N_BATCHED = 1_000_000
N_TAXI = 30_000
N_PYTHON = {"list": 30_000, "optimal": 120_000}
# Name of the ratio, its two sides, and the least it should be.
RATIOS = (
    ("compiled / C, plain", "compiled", "C, plain", 1.0),
    ("compiled / C, rows", "compiled", "C, rows", 1.0),
    ("compiled / C, 4 games", "compiled", "C, 4 games", 0.8),
    ("compiled / C, kept", "compiled", "C, kept", 0.8),
    ("Taxi: compiled / list", "Taxi: compiled", "Taxi: list", 1.0),
    ("optimal / list", "optimal", "list", 2.0),
    ("batched (128) / list", "batched", "list", 20.0),
)
SAME_GAMES = {"C, plain", "C, rows", "C, kept"}


def contestants(folder: Path) -> dict[str, Callable[[], Run]]:
    runs: dict[str, Callable[[], Run]] = {
        "compiled": lambda: run_compiled(N_COMPILED),
        "batched": lambda: run_batched(N_BATCHED),
    }
    for name, n_steps in N_PYTHON.items():
        runs[name] = partial(run_learner, name, n_steps)
    for name in ("list", "compiled"):
        runs[f"Taxi: {name}"] = partial(run_taxi, name, N_TAXI)
    programs = build_c(folder)
    if not programs:
        print("no gcc: the C loops are left out; install gcc for their ratios.")
    for name, program in programs.items():
        runs[name] = partial(run_c, program, N_COMPILED)
    return runs


def measure(runs: dict[str, Callable[[], Run]], n_rounds: int) -> list[dict[str, Run]]:
    rounds = []
    for _ in range(n_rounds):
        order = random.sample(sorted(runs), len(runs))
        rounds.append({name: runs[name]() for name in order})
        check_same_games(rounds[-1])
    return rounds


def check_same_games(done: dict[str, Run]) -> None:
    """Refuse programs that do not do the same work; four games at once follow other draws."""
    for name in SAME_GAMES & set(done):
        if done[name].episodes != done["compiled"].episodes:
            raise SystemExit(
                f"compiled ended {done['compiled'].episodes} games and {name} "
                f"{done[name].episodes}: they do not do the same work, so their speeds cannot be "
                "compared."
            )


def render(rounds: list[dict[str, Run]]) -> str:
    text = [f"{'':24}{'steps/s':>14}"]
    text += [
        f"{name:24}{median(done[name].steps_per_s for done in rounds):>14,.0f}"
        for name in sorted(rounds[0])
    ]
    for name, top, bottom, least in RATIOS:
        if {top, bottom} <= set(rounds[0]):
            ratios = [done[top].steps_per_s / done[bottom].steps_per_s for done in rounds]
            spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
            text.append(f"{name:24}{median(ratios):>14.2f}   ({spread}; wanted: {least:g})")
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
