"""Trainings on disk: one JSON line each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_rlperf.files import append_lines, read_lines
from tests import schema_lines
from tests.evidence.learning.code import OF_AGENTS, OF_TABLES, name_of
from tests.evidence.learning.played import Played
from tests.evidence.learning.tasks import OURS, TEXTBOOK, Task
from tests.evidence.proof.facts import REPOSITORY, core_count, cpu_model, versions

# 1: ours alone, by the command line. 2: sides, and the final policy beside the best checkpoint.
SCHEMA = 2
LIBRARIES = {
    OURS: ("numpy", "numba", "gymnasium"),
    TEXTBOOK: ("gymnasium",),
}
THEIR_LIBRARIES = ("gymnasium", "torch", "stable-baselines3", "sb3-contrib")


@dataclass(frozen=True, slots=True)
class Record:
    """One training: what came of it, with what settings, where and when."""

    task: str
    side: str
    seed: int
    steps: int
    played: Played
    settings: dict[str, Any]
    code: str  # of ours a name for what it does (`code.py`), of others the versions they have
    date: str
    machine: str
    cores: int
    versions: dict[str, str]

    def to_line(self) -> str:
        return schema_lines.to_line(SCHEMA, asdict(self))


def from_line(line: str) -> Record:
    data = schema_lines.from_line(SCHEMA, line)
    return Record(**{**data, "played": Played(**data["played"])})


def read(path: Path) -> list[Record]:
    return [from_line(line) for line in read_lines(path)] if path.exists() else []


def append(path: Path, record: Record) -> None:
    append_lines(path, [record.to_line()])


def made(task: Task, side: str, seed: int, played: Played) -> Record:
    libraries = versions(LIBRARIES.get(side, THEIR_LIBRARIES))
    return Record(
        task=task.name,
        side=side,
        seed=seed,
        steps=task.steps,
        played=Played(*(round(number, 3) for number in astuple(played))),
        settings=settings_of(task),
        code=code_of(task, side),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=cpu_model(),
        cores=core_count(),
        versions=libraries,
    )


def settings_of(task: Task) -> dict[str, Any]:
    """The settings as they come back from a file; of a table those that a training has."""
    if task.settings is None:
        # Imported here: with tables alone nothing of the agents is loaded.
        from rl_impls.tabular.learner import Settings

        return Settings.for_training(task.steps).as_data()
    data: dict[str, Any] = json.loads(json.dumps(task.settings.as_data()))
    return {**data, "n_envs": task.n_envs}


def code_of(task: Task, side: str) -> str:
    """What has to be the same for a training not to be made again."""
    if side == OURS:
        parts = OF_TABLES if task.is_table else OF_AGENTS
        return name_of(REPOSITORY / "rl_impls", parts)
    libraries = versions(LIBRARIES.get(side, THEIR_LIBRARIES))
    return " ".join(f"{name} {version}" for name, version in libraries.items())


def newest(task: Task, side: str, records: Iterable[Record]) -> list[Record]:
    """One a seed, of the code, steps and settings that were trained last."""
    mine = [r for r in records if (r.task, r.side) == (task.name, side)]
    if not mine:
        return []
    last = max(mine, key=lambda record: record.date)
    key = (last.code, last.steps, last.settings, last.machine)
    same = {r.seed: r for r in mine if (r.code, r.steps, r.settings, r.machine) == key}
    return [same[seed] for seed in sorted(same)]
