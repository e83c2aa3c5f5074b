"""Ask the profiler about each slowdown in a clone, and about unchanged code."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .records import SAME, Record, append, read
from .slowdowns import Slowdown, slowdowns

ROOT = Path(__file__).parents[3]
BUDGET_S = 25.0
"""For the verdict; the profiles come after it."""
SAME_PROFILES = 30
"""Profiles of unchanged code."""


def run(out: Path, same: int, only: Sequence[str], budget_s: float) -> None:
    """Append what is missing in `out`; started again, it goes on. `only` these, by name."""
    with tempfile.TemporaryDirectory(prefix="rlperf-why-") as folder:
        clone = Path(folder) / "clone"
        _git(ROOT, "clone", "--quiet", "--shared", str(ROOT), str(clone))
        for slowdown in _missing(read(out), same):
            if not only or slowdown.name in only:
                record = ask(slowdown, clone, Path(folder), budget_s)
                append(out, record)
                print(f"{record.name}: {'right' if record.right else 'WRONG'}: {record.blamed}")


def _missing(known: list[Record], same: int) -> Iterator[Slowdown]:
    done = [record.name for record in known]
    yield from (each for each in slowdowns() if each.name not in done)
    benchmarks = sorted({each.benchmark for each in slowdowns()})
    for number in range(done.count(SAME), same):
        yield Slowdown(SAME, "", "", benchmarks[number % len(benchmarks)])


def ask(slowdown: Slowdown, clone: Path, folder: Path, budget_s: float) -> Record:
    """Profile head with the slowdown against itself without it."""
    begun = time.monotonic()
    _git(clone, "checkout", "--quiet", ".")
    if slowdown.name != SAME:
        _git(clone, "apply", str(slowdown.path))
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    command = [
        sys.executable, "-m", "pytest", "--rlperf", "--rlperf-against=HEAD",
        "--rlperf-same-code=measure", f"--rlperf-budget={budget_s:g}",
        "--rlperf-profile=functions", f"--rlperf-json={result}",
        "-p", "no:cacheprovider", slowdown.benchmark,
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(clone), "RLPERF_CACHE": str(folder / "cache")}
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)
    if not result.exists():
        raise RuntimeError(f"{slowdown.name}: there is no result:\n{done.stdout}{done.stderr}")
    content = json.loads(result.read_text(encoding="utf-8"))
    return _record(slowdown, content, time.monotonic() - begun)


def _record(slowdown: Slowdown, content: Mapping[str, Any], seconds: float) -> Record:
    test = content["tests"][0]
    metric, profile = test["metrics"][0], test.get("profile") or {}
    blamed = tuple(_named(each) for each in profile.get("functions", ()))
    return Record(
        name=slowdown.name,
        benchmark=slowdown.benchmark,
        outcome=metric["outcome"],
        change=metric["change"],
        low=metric["low"],
        high=metric["high"],
        profiled_change=profile.get("change"),
        pairs=profile.get("pairs", 0),
        blamed=blamed,
        note=profile.get("note"),
        right=profile.get("pairs", 0) > 0 and is_right(slowdown, blamed),
        seconds=round(seconds, 1),
        date=datetime.date.today().isoformat(),
        commit=content["commit"],
        python=platform.python_version(),
    )


def _named(function: Mapping[str, Any]) -> str:
    """Return the function that the first line of the failure names."""
    if function["inlined"]:
        return str(function["inlined"][0])
    return f"{function['file']}:{function['function']}"


def is_right(slowdown: Slowdown, blamed: tuple[str, ...]) -> bool:
    if slowdown.name == SAME:
        return not blamed
    return bool(blamed) and blamed[0].rpartition(":")[2] in slowdown.culprits


def _git(folder: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=folder, check=True)
