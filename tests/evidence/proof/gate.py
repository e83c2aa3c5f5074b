"""One suite judged by this project's own gate."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import children
from .cases import Case
from .projects import PERF_FILE, Project
from .records import Verdict

RESULT_SCHEMA = 1
MEASURE = "--rlperf-same-code=measure"
"""What the clock says of unchanged code is asked, not whether it needs one."""
PYTEST = (sys.executable, "-m", "pytest")
# pytest's codes of a run that came to its verdicts, and the gate's own for "nothing compared".
FINISHED = (0, 1, 6)


@dataclass(frozen=True)
class Suite:
    """What a suite gave; ``problem`` is set, and there are no verdicts, where it crashed."""

    verdicts: tuple[Verdict, ...]
    seconds: float
    problem: str = ""
    tail: str = ""


def deadline_s(case: Case) -> float:
    """Far beyond the budget: only a run that hangs meets it."""
    return 2.0 * case.budget_s + 120.0


def command(
    case: Case, project: Project, result: Path, pytest: Sequence[str] = PYTEST
) -> list[str]:
    partner = f"--rlperf-against={project.base}"
    if project.environments:
        head, base = (str(each.folder / "bin" / "python") for each in project.environments)
        pytest, partner = (head, "-m", "pytest"), f"--rlperf-against-python={base}"
    return [
        *pytest,
        PERF_FILE,
        "--rlperf",
        partner,
        MEASURE,
        f"--rlperf-threshold={case.threshold * 100:g}%",
        f"--rlperf-json={result}",
        f"--rlperf-budget={case.budget_s}",
        "--rlperf-profile=off",  # the time of a verdict, not of asking why
    ]


def run(case: Case, project: Project, scratch: Path, pytest: Sequence[str] = PYTEST) -> Suite:
    result = scratch / "result.json"
    argv = command(case, project, result, pytest)
    environment = children.suite_environment(scratch)
    ended = children.run(argv, project.root, environment, deadline_s(case))
    problem = problem_of(ended.code, result.exists())
    if problem:
        return Suite((), ended.seconds, problem, ended.tail)
    try:
        found = parse(result.read_text(encoding="utf-8"), project.workload.tests)
    except (ValueError, KeyError, TypeError) as error:
        return Suite((), ended.seconds, f"unreadable result: {error!r}", ended.tail)
    return Suite(found, ended.seconds)


def parse(text: str, tests: Sequence[str]) -> tuple[Verdict, ...]:
    data = json.loads(text)
    if data["schema"] != RESULT_SCHEMA:
        raise ValueError(f"schema {data['schema']} is unknown")
    return verdicts(data, tests)


def problem_of(code: int | None, has_result: bool) -> str:
    if code is None:
        return "deadline passed"
    if code not in FINISHED:
        return f"exit code {code}"
    return "" if has_result else f"exit code {code} without a result"


def verdicts(result: Mapping[str, Any], tests: Sequence[str]) -> tuple[Verdict, ...]:
    """One verdict for each test that was asked for, whether the result speaks of it or not."""
    by_nodeid = {test["nodeid"]: test for test in result["tests"]}
    wanted = (f"{PERF_FILE}::{name}" for name in tests)
    return tuple(time_verdict(nodeid, by_nodeid.get(nodeid)) for nodeid in wanted)


def time_verdict(nodeid: str, test: Mapping[str, Any] | None) -> Verdict:
    if test is None:
        return Verdict(nodeid, "missing")
    for metric in test["metrics"]:
        if metric["name"] == "time":
            said = ("outcome", "change", "low", "high", "blocks", "detectable")
            return Verdict(nodeid, *(metric[name] for name in said))
    return Verdict(nodeid, "failed")
