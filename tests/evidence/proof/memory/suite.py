"""One project, judged once: a repository of known work, and what the gate said of it."""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_rlperf.model.memory import JUDGED

from .. import children, facts, gate, projects

SAME, GROWN = "A/A", "grown"
EXPECTED = {
    "test_hold": "peak_rss",
    "test_leak": "growth",
    "test_spike": "peak_rss",
    "test_child": "peak_rss",
    "test_rank[nprocs=2]": "peak_rss",
}
"""The metric that has to show the growth of each test."""
TITLES = {
    "test_hold": "2 MiB more, of a peak of 5 MiB",
    "test_leak": "10 KiB more are kept after every call",
    "test_spike": "50 MiB allocated, touched and freed at once",
    "test_child": "40 MiB more, in a child process",
    "test_rank[nprocs=2]": "10 MiB more, in one of two MPI ranks",
}
LIBRARY = Path(__file__).with_name("memwork.py")
BUDGET_S = 3000
"""Far more than it takes: at idle priority on a busy machine a process may need minutes."""
DEADLINE_S = 7200

TESTS = """\
import memwork
import pytest


def test_hold(rlperf_memory):
    rlperf_memory(memwork.hold)


def test_leak(rlperf_memory):
    rlperf_memory(memwork.leak)


def test_spike(rlperf_memory):
    rlperf_memory(memwork.spike)


def test_child(rlperf_memory):
    rlperf_memory(memwork.child)


@pytest.mark.rlperf_mpi(nprocs=2, memory=True)
def test_rank(rlperf_mpi, rlperf_memory):
    rlperf_memory(memwork.rank, rlperf_mpi.comm)
"""


def run(case: str, pytest: Sequence[str] = gate.PYTEST) -> list[dict[str, Any]]:
    """The records of one suite: a verdict for every test and judged metric."""
    with tempfile.TemporaryDirectory(prefix="proof-") as name:
        folder = Path(name)
        scratch, root = folder / "scratch", folder / "project"
        scratch.mkdir()
        base = build(root, case)
        result = scratch / "result.json"
        argv = [*pytest, "tests", "--rlperf", f"--rlperf-against={base}", gate.MEASURE]
        argv += [f"--rlperf-json={result}", f"--rlperf-budget={BUDGET_S}"]
        ended = children.run(argv, root, children.suite_environment(scratch), DEADLINE_S)
        if not result.exists():
            raise ValueError(f"the suite ended with {ended.code}:\n{ended.tail}")
        found = json.loads(result.read_text(encoding="utf-8"))
    about = {"case": case, "suite": uuid.uuid4().hex, "facts": asdict(facts.collect())}
    return [about | record for record in records(found)]


def build(root: Path, case: str) -> str:
    """Lay out base and head; returns the revision of the base."""
    (root / "tests").mkdir(parents=True)
    shutil.copy(LIBRARY, root / "memwork.py")
    (root / "tests" / "test_memwork.py").write_text(TESTS, encoding="utf-8")
    (root / "pyproject.toml").write_text(projects.PYPROJECT, encoding="utf-8")
    (root / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    projects.git(root, "init", "--quiet")
    base = projects.commit(root, "base")
    if case == GROWN:
        library = root / "memwork.py"
        text = library.read_text(encoding="utf-8")
        library.write_text(text.replace("GROWN = False", "GROWN = True"), encoding="utf-8")
    projects.commit(root, "head")
    return base


def records(result: dict[str, Any]) -> list[dict[str, Any]]:
    """A test that was not measured is a record too, or its silence would look like a pass."""
    found = {test["nodeid"].rpartition("::")[2]: test["metrics"] for test in result["tests"]}
    judged = {metric.name for metric in JUDGED}
    measured = [
        {
            "test": test,
            "metric": metric["name"],
            **{key: metric[key] for key in ("outcome", "value", "base_value", "blocks")},
            "low": metric["low_abs"],
            "high": metric["high_abs"],
        }
        for test, metrics in found.items()
        for metric in metrics
        if metric["name"] in judged
    ]
    seen = {(record["test"], record["metric"]) for record in measured}
    silent = [
        {"test": test, "metric": metric, "outcome": "not measured"}
        for test, metric in EXPECTED.items()
        if (test, metric) not in seen
    ]
    return measured + silent
