"""The trainings, one after another, each in a process of its own with one thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from tests.evidence.learning.played import Played
from tests.evidence.learning.records import Record, append, code_of, made, read, settings_of
from tests.evidence.learning.tasks import OURS, SEEDS, TASKS, TEXTBOOK, Task
from tests.evidence.peers.run import ONE_THREAD
from tests.evidence.proof.facts import REPOSITORY, cpu_model

Training = tuple[Task, str, int]


def run(
    path: Path,
    only: Sequence[str] = (),
    sides: Sequence[str] = (),
    n_seeds: int = len(SEEDS),
    minutes: float | None = None,
) -> None:
    """What is not recorded yet of this code on this machine; one may be ended and begun again.

    Seed by seed: whoever stops early has seen every task. `only` are names of tasks, or parts of
    some: 'dqn Acrobot-v1' is one, and 'Acrobot' in several.
    """
    left_out: dict[str, str] = {}
    end = None if minutes is None else time.monotonic() + 60 * minutes
    for task, side, seed in open_trainings(read(path)):
        if (only and not is_meant(task, only)) or seed >= n_seeds:
            continue
        if sides and side not in sides:
            continue
        if sentence := lacking(task):
            left_out[task.env] = sentence
            continue
        if end is not None and time.monotonic() >= end:
            break
        played = by_command(argv(task, side, seed))
        append(path, made(task, side, seed, played))
        print(f"{task.name}, {side}, seed {seed}: {played}", flush=True)
    for env, sentence in left_out.items():
        print(f"{env} was left out: {sentence}")


def lacking(task: Task) -> str | None:
    """Say what a task needs that is not installed, if anything."""
    if task.needs is None or find_spec(task.needs) is not None:
        return None
    return f"it needs {task.needs}, which is not installed: make setup-extras installs it."


def is_meant(task: Task, only: Iterable[str]) -> bool:
    names = [task.name for task in TASKS]
    return any(part == task.name if part in names else part in task.name for part in only)


def open_trainings(records: Iterable[Record]) -> list[Training]:
    """Those that no record has, of the same code, settings and machine."""
    done = [
        (r.task, r.side, r.seed, r.steps, r.settings, r.code)
        for r in records
        if r.machine == cpu_model()
    ]
    some = {(task.is_table, side): task for task in TASKS for side in task.sides}
    codes = {(is_table, side): code_of(task, side) for (is_table, side), task in some.items()}

    def is_done(task: Task, side: str, seed: int) -> bool:
        code = codes[task.is_table, side]
        return (task.name, side, seed, task.steps, settings_of(task), code) in done

    return [
        (task, side, seed)
        for seed in SEEDS
        for task in TASKS
        for side in task.sides
        if not is_done(task, side, seed)
    ]


def argv(task: Task, side: str, seed: int) -> list[str]:
    words = ["-m", "tests.evidence.learning", "side", task.name]
    return [*words, "--side", side, "--seed", str(seed)]


def by_command(words: list[str]) -> Played:
    ended = subprocess.run(
        [sys.executable, *words],
        cwd=REPOSITORY,
        env={**os.environ, **dict.fromkeys(ONE_THREAD, "1")},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Played(**json.loads(ended.stdout.splitlines()[-1]))


def play(task: Task, side: str, seed: int) -> Played:
    # Imported here: only their side needs torch, and a table needs no side.
    if side == OURS:
        from tests.evidence.learning import ours

        return ours.play(task, seed)
    if side == TEXTBOOK:
        from rl_impls.tabular.learner import Settings
        from tests.evidence.learning import textbook

        return textbook.play(task, seed, Settings.for_training(task.steps))
    from tests.evidence.learning import theirs

    return theirs.play(task, seed)
