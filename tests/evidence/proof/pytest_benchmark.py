"""The same suite judged by pytest-benchmark: saved on the base, compared on the head."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import children
from .cases import Case
from .gate import PYTEST, Suite, deadline_s, problem_of
from .projects import BENCHMARK_FILE, Project, check_out
from .records import Verdict


def save_command(storage: Path, result: Path, pytest: Sequence[str] = PYTEST) -> list[str]:
    # The gate's plugin brings its own `benchmark` fixture, which is not what is measured here.
    return [
        *pytest,
        BENCHMARK_FILE,
        "-p",
        "no:rlperf",
        "--benchmark-save=base",
        f"--benchmark-storage={storage}",
        f"--benchmark-json={result}",
    ]


def compare_command(
    threshold: float, storage: Path, result: Path, pytest: Sequence[str] = PYTEST
) -> list[str]:
    return [
        *pytest,
        BENCHMARK_FILE,
        "-p",
        "no:rlperf",
        "--benchmark-compare",
        f"--benchmark-compare-fail=mean:{threshold * 100:g}%",
        f"--benchmark-storage={storage}",
        f"--benchmark-json={result}",
    ]


def run(case: Case, project: Project, scratch: Path) -> Suite:
    storage = scratch / "storage"
    base, head = scratch / "base.json", scratch / "head.json"
    steps = (
        (project.base, save_command(storage, base), base),
        (project.head, compare_command(case.threshold, storage, head), head),
    )
    seconds, code = 0.0, None
    for revision, argv, result in steps:
        check_out(project, revision)
        environment = children.suite_environment(scratch)
        ended = children.run(argv, project.root, environment, deadline_s(case))
        seconds, code = seconds + ended.seconds, ended.code
        problem = problem_of(ended.code, result.exists())
        if problem:
            return Suite((), seconds, problem, ended.tail)
    found = verdicts(means(base), means(head), case.threshold, project.workload.tests)
    if not agrees(code, found):
        return Suite((), seconds, f"exit code {code} does not fit its own figures")
    return Suite(found, seconds)


def agrees(code: int | None, found: Sequence[Verdict]) -> bool:
    """Whether the tool itself failed just where its means say so: else the rule below is wrong."""
    return (code == 1) == any(verdict.outcome == "regressed" for verdict in found)


def means(result: Path) -> dict[str, float]:
    data: Mapping[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return {entry["fullname"]: entry["stats"]["mean"] for entry in data["benchmarks"]}


def verdicts(
    base: Mapping[str, float], head: Mapping[str, float], threshold: float, tests: Sequence[str]
) -> tuple[Verdict, ...]:
    wanted = (f"{BENCHMARK_FILE}::{name}" for name in tests)
    return tuple(
        mean_verdict(nodeid, base.get(nodeid), head.get(nodeid), threshold) for nodeid in wanted
    )


def mean_verdict(nodeid: str, base: float | None, head: float | None, threshold: float) -> Verdict:
    """The rule of ``--benchmark-compare-fail=mean:N%``: there is no third answer."""
    if base is None or head is None:
        return Verdict(nodeid, "missing")
    change = head / base - 1
    return Verdict(nodeid, "regressed" if change > threshold else "unchanged", change)
