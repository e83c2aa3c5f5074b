"""Each change in a clone of this repository, against its own commit."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_rlperf.files import append_lines, read_lines
from tests import schema_lines
from tests.evidence.proof.facts import REPOSITORY, core_count, cpu_model, versions
from tests.evidence.zoo.changes import Change, changes

SCHEMA = 1
BUDGET_S = 600
TESTS = "tests/learns"
LIBRARIES = ("numpy", "numba", "gymnasium")


@dataclass(frozen=True, slots=True)
class Record:
    """What the gate said of one change, and all it had to say it from."""

    kind: str
    name: str
    gate: str
    outcome: str
    change: float | None  # the loss, a share of what the base learns
    low: float | None
    high: float | None
    seeds: int
    seconds: float
    head: tuple[float, ...]  # one a seed
    base: tuple[float, ...]
    said: str
    commit: str
    date: str
    machine: str
    cores: int
    versions: str


def applied(change: Change, root: Path) -> str:
    """Return the changed text of the file; the old one must stand in it once."""
    text = (root / "rl_impls" / change.file).read_text(encoding="utf-8")
    if text.count(change.old) != 1:
        raise ValueError(f"{change.title}: its text stands {text.count(change.old)} times there")
    return text.replace(change.old, change.new)


def run(out: Path, kinds: Sequence[str], minutes: float, scratch: Path) -> Iterator[Record]:
    """Try what is not recorded yet, of whichever commit; yield each record when it is written."""
    until = time.monotonic() + 60 * minutes
    clone = scratch / "clone"
    if not clone.exists():
        _git(scratch, "clone", "--quiet", str(REPOSITORY), str(clone))
    _git(clone, "fetch", "--quiet", "origin", "HEAD")
    _git(clone, "reset", "--quiet", "--hard", "FETCH_HEAD")
    commit = _git(clone, "rev-parse", "--short=10", "HEAD")
    done = {(r.kind, r.name, r.gate) for r in read(out)}
    for change in changes():
        if change.kind not in kinds or (change.kind, change.name, change.gate) in done:
            continue
        if time.monotonic() > until:
            return
        record = _tried(change, clone, scratch, commit)
        append_lines(out, [schema_lines.to_line(SCHEMA, asdict(record))])
        yield record


def _tried(change: Change, clone: Path, scratch: Path, commit: str) -> Record:
    file = clone / "rl_impls" / change.file
    before = file.read_text(encoding="utf-8")
    file.write_text(applied(change, clone), encoding="utf-8")
    result = scratch / "result.json"
    result.unlink(missing_ok=True)
    begun = time.monotonic()
    try:
        ended = subprocess.run(
            [
                sys.executable, "-m", "pytest", "--rlperf",
                "--rlperf-against=HEAD", TESTS, "-k", change.gate, f"--rlperf-json={result}",
                f"--rlperf-budget={BUDGET_S}", "-p", "no:cacheprovider", "-q",
            ],
            cwd=clone,
            env={**os.environ, "PYTHONPATH": str(clone), "RLPERF_CACHE": str(scratch / "cache")},
            capture_output=True,
            text=True,
        )  # fmt: skip
    finally:
        file.write_text(before, encoding="utf-8")
    seconds = time.monotonic() - begun
    if not result.exists():
        raise ValueError(f"{change.title}: there is no result\n{ended.stdout}{ended.stderr}")
    (test,) = json.loads(result.read_text(encoding="utf-8"))["tests"]
    (metric,) = test["metrics"]
    return Record(
        kind=change.kind,
        name=change.name,
        gate=change.gate,
        outcome=test["outcome"],
        change=metric["change"],
        low=metric["low"],
        high=metric["high"],
        seeds=metric["blocks"],
        seconds=round(seconds, 1),
        head=tuple(metric["head_blocks"]),
        base=tuple(metric["base_blocks"]),
        said=_said(test, metric),
        commit=commit,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        machine=cpu_model(),
        cores=core_count(),
        versions=", ".join(f"{name} {v}" for name, v in versions(LIBRARIES).items()),
    )


def _said(test: dict[str, Any], metric: dict[str, Any]) -> str:
    """Return what the gate saw: its reason, and how seeds failed."""
    head = test["learning"]["head"]
    failures = [each["failure"] for each in head if each["failure"]]
    share = f"{len(failures)} of {len(head)} seeds failed"
    last = f"; {share}: {failures[0].splitlines()[-1]}" if failures else ""
    return f"{metric['reason']}{last}"


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def read(path: Path) -> list[Record]:
    """Return the records of a file; none where there is no file yet."""
    return [_from(schema_lines.from_line(SCHEMA, line)) for line in read_lines(path)]


def _from(data: dict[str, Any]) -> Record:
    sides = {name: tuple(data[name]) for name in ("head", "base")}
    return Record(**{**data, **sides})
