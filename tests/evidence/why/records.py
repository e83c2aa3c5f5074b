"""The profiler's answers on disk: one JSON line a profile."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_rlperf.files import append_lines, read_lines
from tests import schema_lines

# 1: first version.
SCHEMA = 1
SAME = "same"
"""Name of a comparison of the code with itself."""


@dataclass(frozen=True, slots=True)
class Record:
    """One profiled comparison."""

    name: str  # of the slowdown, or SAME
    benchmark: str
    outcome: str  # of the gate
    change: float | None  # as the gate measured it
    low: float | None
    high: float | None
    profiled_change: float | None
    pairs: int
    blamed: tuple[str, ...]  # functions, most first; of compiled ones what was compiled into them
    note: str | None
    right: bool
    seconds: float
    date: str
    commit: str
    python: str

    def to_line(self) -> str:
        return schema_lines.to_line(SCHEMA, asdict(self))


def from_line(line: str) -> Record:
    data = schema_lines.from_line(SCHEMA, line)
    return Record(**{**data, "blamed": tuple(data["blamed"])})


def read(path: Path) -> list[Record]:
    return [from_line(line) for line in read_lines(path)]


def append(path: Path, record: Record) -> None:
    append_lines(path, [record.to_line()])
