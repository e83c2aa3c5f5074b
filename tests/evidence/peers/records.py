"""Measurements on disk: one JSON line for each contestant in each round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_rlperf.files import append_lines, read_lines
from tests import schema_lines
from tests.evidence.peers.measured import Measured
from tests.evidence.proof.facts import REPOSITORY, core_count, cpu_model, tree_of, versions

# 1: first version.
SCHEMA = 1
LIBRARIES = ("numpy", "numba", "gymnasium", "torch", "stable-baselines3", "jax")


@dataclass(frozen=True, slots=True)
class Run:
    """What all measurements of a run have in common."""

    date: str  # of its beginning; names the run
    sizes: str
    tree: str  # git's name for the content of rl_impls
    machine: str
    cores: int
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class Record:
    run: Run
    round: int  # its seed, too
    contestant: str
    measured: Measured

    def to_line(self) -> str:
        return schema_lines.to_line(SCHEMA, asdict(self))


def begun(date: str, sizes: str) -> Run:
    tree = tree_of(REPOSITORY, "rl_impls")
    return Run(date, sizes, tree, cpu_model(), core_count(), versions(LIBRARIES))


def from_line(line: str) -> Record:
    data = schema_lines.from_line(SCHEMA, line)
    measured = Measured(**data["measured"])
    return Record(Run(**data["run"]), data["round"], data["contestant"], measured)


def read(path: Path) -> list[Record]:
    return [from_line(line) for line in read_lines(path)]


def newest(records: Sequence[Record]) -> Run:
    return max((record.run for record in records), key=lambda run: run.date)


def append(path: Path, record: Record) -> None:
    append_lines(path, [record.to_line()])
