"""Projects with stored baselines. Head's time is fake, while the reference kernels really run: so
every change is twentyfold and every threshold 300 %, which no noise can bridge.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_rlperf.model.metric import WITHIN, Outcome

from .projects import Ended, Project, Workshop

COARSE = "--rlperf-threshold=300%"

TESTS = """
import lib
import pytest

@pytest.mark.rlperf(iterations=10, steps=100)
def test_work(rlperf):
    rlperf(lib.work)

@pytest.mark.rlperf(iterations=10)
def test_other(rlperf):
    rlperf(lib.other)
"""


def library(work_ms: float = 1, other: str = "tick(MS)") -> str:
    return (
        "from fakeclock import ordinal, tick\n\nMS = 1_000_000\n\n"
        f"def work():\n    tick({work_ms} * MS)\n\ndef other():\n    {other}\n"
    )


def new_project(workshop: Workshop, name: str, files: Mapping[str, str] | None = None) -> Project:
    common = {"lib.py": library(), "tests/test_perf.py": TESTS}
    return workshop.project(name, {**common, **(files or {})})


def save(project: Project, *args: str) -> Ended:
    return project.run("--rlperf", COARSE, *args, "--rlperf-save")


def compare(project: Project, *args: str) -> Ended:
    return project.run("--rlperf", COARSE, *args)


def coarse(ended: Ended) -> dict[str, str]:
    """The outcomes; of a test that passed not to which side it lay off, since kernels are noisy."""
    outcomes = {name: Outcome(word) for name, word in ended.outcomes.items()}
    return {name: "passed" if o in WITHIN else str(o) for name, o in outcomes.items()}


def rlperf(project: Project, *args: str) -> "subprocess.CompletedProcess[str]":
    """The `rlperf` command in the project's folder."""
    return subprocess.run(
        [sys.executable, "-m", "pytest_rlperf.cli", *args],
        cwd=project.folder,
        env=os.environ | {"RLPERF_CACHE": str(project.cache), "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )


def baseline_file(project: Project, folder: str = "baselines", name: str = "main") -> Path:
    """Return the baseline of the one test module, on the one machine."""
    (path,) = (project.folder / folder).glob(f"*/{name}/tests/test_perf.json")
    return path


def stored(project: Project, **where: str) -> dict[str, Any]:
    content = json.loads(baseline_file(project, **where).read_text())
    return {nodeid.partition("::")[2]: test for nodeid, test in content["tests"].items()}


def make_foreign(project: Project, **facts: str) -> None:
    """Change the one baseline to one that was saved on a machine with these facts."""
    path = baseline_file(project)
    content = json.loads(path.read_text())
    for test in content["tests"].values():
        for session in test["sessions"]:
            session["facts"] |= facts
    path.write_text(json.dumps(content))
    machine = path.parents[2]
    machine.rename(machine.with_name("another-machine"))
