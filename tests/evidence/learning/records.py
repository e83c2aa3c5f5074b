"""Trainings on disk: one JSON line each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_rlperf.files import append_lines, read_lines
from rl_impls.registry import preset_for
from tests import schema_lines
from tests.evidence.learning.goals import Training
from tests.evidence.proof.facts import REPOSITORY, core_count, cpu_model, tree_of, versions

# 1: first version.
SCHEMA = 1
LIBRARIES = ("numpy", "numba", "gymnasium")


@dataclass(frozen=True, slots=True)
class Record:
    """One training: what came of it, with what settings, where and when."""

    agent: str
    env: str
    seed: int
    steps: int
    seconds: float  # of training alone
    mean_return: float
    games: int
    wanted: float
    settings: dict[str, Any]
    n_envs: int
    command: str
    date: str
    tree: str  # git's name for the content of rl_impls
    machine: str
    cores: int
    versions: dict[str, str]

    @property
    def reached(self) -> bool:
        return self.mean_return >= self.wanted

    def to_line(self) -> str:
        return schema_lines.to_line(SCHEMA, asdict(self))


def from_line(line: str) -> Record:
    return Record(**schema_lines.from_line(SCHEMA, line))


def read(path: Path) -> list[Record]:
    return [from_line(line) for line in read_lines(path)]


def append(path: Path, record: Record) -> None:
    append_lines(path, [record.to_line()])


def made(training: Training, words: list[str], result: Mapping[str, Any]) -> Record:
    """From what `python -m rl_impls train` told."""
    preset = preset_for(training.goal.agent, training.goal.env)
    return Record(
        agent=result["agent"],
        env=result["env"],
        seed=result["seed"],
        steps=result["steps"],
        seconds=round(result["seconds"], 3),
        mean_return=round(result["mean_return"], 3),
        games=result["games"],
        wanted=training.goal.mean_return,
        settings=json.loads(json.dumps(preset.settings.as_data())),  # as it comes back
        n_envs=preset.n_envs,
        command=" ".join(["python", *words]),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        tree=tree_of(REPOSITORY, "rl_impls"),
        machine=cpu_model(),
        cores=core_count(),
        versions=versions(LIBRARIES),
    )
