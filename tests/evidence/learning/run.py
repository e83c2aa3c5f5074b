"""The trainings, one after another, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.evidence.learning.goals import Training, trainings
from tests.evidence.learning.records import Record, append, made, read
from tests.evidence.proof.facts import REPOSITORY, cpu_model, tree_of


def run(path: Path, only: Iterable[str] = (), minutes: float | None = None) -> None:
    """What is not recorded yet of this code on this machine; one may be ended and begun again."""
    end = None if minutes is None else time.monotonic() + 60 * minutes
    for training in open_trainings(read(path), tree_of(REPOSITORY, "rl_impls"), cpu_model()):
        if only and training.goal.agent not in only:
            continue
        if end is not None and time.monotonic() >= end:
            break
        record = measure(training)
        append(path, record)
        print(said_of(record), flush=True)


def open_trainings(records: Iterable[Record], tree: str, machine: str) -> list[Training]:
    """Those of the list that no record has, of the same code and machine."""
    done = {(r.agent, r.env, r.seed) for r in records if (r.tree, r.machine) == (tree, machine)}
    return [t for t in trainings() if (t.goal.agent, t.goal.env, t.seed) not in done]


def argv(training: Training) -> list[str]:
    goal = training.goal
    words = ["-m", "rl_impls", "train", goal.env, "--agent", goal.agent]
    return [*words, "--steps", str(goal.steps), "--seed", str(training.seed), "--json", "-"]


def by_command(words: list[str]) -> dict[str, Any]:
    ended = subprocess.run(
        [sys.executable, *words], cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True
    )
    result: dict[str, Any] = json.loads(ended.stdout)
    return result


def measure(training: Training) -> Record:
    words = argv(training)
    return made(training, words, by_command(words))


def said_of(record: Record) -> str:
    verdict = "reached" if record.reached else "MISSED"
    return (
        f"{record.agent}, seed {record.seed}: mean return {record.mean_return:.1f} after "
        f"{record.steps:,} steps, wanted {record.wanted:g}: {verdict}"
    )
