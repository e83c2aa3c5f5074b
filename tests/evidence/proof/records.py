"""The verdicts on disk: one JSON line each, whole or not there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from pytest_rlperf.files import append_lines, read_lines

# 1: first version.
SCHEMA = 1
CRASHED = "crashed"


@dataclass(frozen=True)
class Facts:
    """Under what a suite was measured."""

    date: str
    commit: str
    machine: str
    cores: int
    python: str
    numpy: str
    pytest_benchmark: str


@dataclass(frozen=True)
class Verdict:
    """What a tool said of one test; what it does not say is None. Changes are fractions."""

    nodeid: str
    outcome: str
    change: float | None = None
    low: float | None = None
    high: float | None = None
    blocks: int | None = None
    detectable: float | None = None


@dataclass(frozen=True)
class Record:
    """A verdict with everything needed to judge the judge; ``truth`` is the injected change."""

    tool: str
    case: str
    kind: str
    variant: str
    suite: str
    truth: float
    threshold: float
    seconds: float
    load: bool
    verdict: Verdict
    facts: Facts
    reason: str = ""

    @property
    def is_crash(self) -> bool:
        return self.verdict.outcome == CRASHED


def to_line(record: Record) -> str:
    flat = asdict(record)
    data = {**flat.pop("verdict"), "facts": flat.pop("facts")}
    return json.dumps({"schema": SCHEMA, **flat, **data}, allow_nan=False)


def from_line(line: str) -> Record:
    data = json.loads(line)
    if data["schema"] != SCHEMA:
        raise ValueError(f"schema {data['schema']} is unknown; this program reads {SCHEMA}")
    verdict = Verdict(**_part(Verdict, data))
    facts = Facts(**data["facts"])
    return Record(**{**_part(Record, data), "verdict": verdict, "facts": facts})


def _part(kind: type[Verdict] | type[Record], data: Mapping[str, Any]) -> dict[str, Any]:
    return {field.name: data[field.name] for field in fields(kind) if field.name in data}


def read(path: Path) -> list[Record]:
    """All records; a torn last line is none, a bad line before it is an error."""
    records = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            records.append(from_line(line))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path.name}, line {number} is no record: {error!r}") from error
    return records


def append(path: Path, records: Iterable[Record]) -> None:
    """Add a suite's records in one write, and see them on disk before the next suite."""
    append_lines(path, map(to_line, records))
