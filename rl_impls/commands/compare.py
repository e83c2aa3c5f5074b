"""`python -m rl_impls compare`: every learner on every runtime, in one table.

Each runs in a process of its own, so that its memory is its own. All run once a round, and speeds
are compared inside a round: a slow moment of the machine then spoils one round, not the table.
"""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, fields
from statistics import median
from typing import Final, Self

from rl_impls import registry
from rl_impls.commands import arguments as accepts
from rl_impls.errors import WorkerDied
from rl_impls.runtimes.machine import default_processes

NAME: Final = "compare"
HELP: Final = "every learner on every runtime: time, memory, speed and how well it plays"
# The yardstick of relative speed.
FIRST: Final = "list"
PARALLEL: Final = (2, 4)
ROUNDS: Final = 3
COLUMNS: Final = (
    "agent", "runtime", "rounds", "seconds", "memory", "steps/s", "relative",
    "return", "won", "lost",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    agent: str
    processes: int  # 1: serial

    @property
    def runtime(self) -> str:
        return "serial" if self.processes == 1 else f"parallel {self.processes}"


@dataclass(frozen=True, slots=True)
class Round:
    """One training as `train` told it, as far as the table shows it."""

    seconds: float
    steps_per_s: float
    peak_rss_bytes: int
    mean_return: float
    win_rate: float | None
    loss_rate: float | None

    @classmethod
    def read(cls, text: str) -> Self:
        data = json.loads(text)
        return cls(**{field.name: data[field.name] for field in fields(cls)})


Rounds = list[Round]
Results = dict[Entry, Rounds]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("env", metavar="ENV", help="TicTacToe-v0, or any name gymnasium knows")
    parser.add_argument("--steps", type=accepts.positive, required=True, metavar="N")
    parser.add_argument("--seed", type=accepts.not_negative, default=0, metavar="S")
    parser.add_argument("--rounds", type=accepts.positive, default=ROUNDS, metavar="N",
                        help=f"the table holds medians of them (default {ROUNDS})")  # fmt: skip
    parser.add_argument("--agent", type=accepts.tabular_agent, action="append", metavar="NAME",
                        help="only this one; may repeat")  # fmt: skip


def run(arguments: Namespace) -> int:
    accepts.environment(arguments.env)
    todo = entries(arguments.agent or tuple(registry.LEARNERS), default_processes())
    results: Results = {}
    failed: set[Entry] = set()
    try:
        for number in range(arguments.rounds):
            for entry in (entry for entry in todo if entry not in failed):
                print(
                    f"round {number + 1} of {arguments.rounds}: {entry.agent}, {entry.runtime} ...",
                    file=sys.stderr,
                )
                try:
                    trained = _train(entry, arguments, arguments.seed + number)
                except WorkerDied as died:
                    print(f"rl_impls: {died}", file=sys.stderr)
                    failed.add(entry)
                    results.pop(entry, None)
                else:
                    results.setdefault(entry, []).append(trained)
    finally:  # after Ctrl+C, too: what is done is worth seeing
        if results:
            print(render(results), flush=True)
    return 1 if failed else 0


def entries(agents: Sequence[str], n_cores: int) -> list[Entry]:
    """Return each agent serially, and with as many processes as there are cores for."""
    processes = [1, *(n for n in PARALLEL if n <= n_cores)]
    return [Entry(agent, n) for agent in agents for n in processes]


def argv(entry: Entry, env: str, steps: int, seed: int) -> list[str]:
    words = [sys.executable, "-m", "rl_impls", "train", env, "--agent", entry.agent]
    words += ["--steps", str(steps), "--seed", str(seed), "--json", "-"]
    if entry.processes > 1:
        words += ["--runtime", "parallel", "--processes", str(entry.processes)]
    return words


def _train(entry: Entry, arguments: Namespace, seed: int) -> Round:
    words = argv(entry, arguments.env, arguments.steps, seed)
    ended = subprocess.run(words, capture_output=True, text=True)
    if ended.returncode != 0:
        said = ended.stderr.strip().splitlines()
        raise WorkerDied(
            f"{entry.agent}, {entry.runtime} failed ({said[-1] if said else 'silently'}): "
            f"repeat it with {' '.join(['python', *words[1:]])}"
        )
    return Round.read(ended.stdout)


def render(results: Results) -> str:
    """Return a line for each, speeds relative to the first serial one of lists, else to the
    first."""
    yardstick = results.get(Entry(FIRST, 1)) or next(iter(results.values()))
    rows = [COLUMNS, *(_row(entry, rounds, yardstick) for entry, rounds in results.items())]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    lines = []
    for row in rows:
        cells = [cell.ljust(w) if i < 3 else cell.rjust(w) for i, (cell, w) in
                 enumerate(zip(row, widths, strict=True))]  # fmt: skip
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _row(entry: Entry, rounds: Rounds, yardstick: Rounds) -> tuple[str, ...]:
    def middle(field: str) -> float:
        return float(median(getattr(each, field) for each in rounds))

    def percent(field: str) -> str:
        return "–" if getattr(rounds[0], field) is None else f"{middle(field):.1%}"

    # A comparison that was cut short has more rounds of some than of others.
    pairs = zip(rounds, yardstick, strict=False)
    ratios = [own.steps_per_s / other.steps_per_s for own, other in pairs]
    return (
        entry.agent,
        entry.runtime,
        str(len(rounds)),
        f"{middle('seconds'):.3f}",
        f"{middle('peak_rss_bytes') / 1e6:.0f} MB",
        f"{middle('steps_per_s'):,.0f}",
        f"{median(ratios):.2f}",
        f"{middle('mean_return'):.3f}",
        percent("win_rate"),
        percent("loss_rate"),
    )
