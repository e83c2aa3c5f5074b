"""Sessions of stored baselines: the same five kinds of work saved again and again, under load and
without, then run again and again, as they are and 25 % slower, for every save to be compared with
every run.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pytest_rlperf.baselines.file import Stored, read_module
from pytest_rlperf.machine.fingerprint import machine_facts
from pytest_rlperf.model.result import Facts
from pytest_rlperf.stats.decide import LOOKS

from . import children, gate, projects
from .projects import PERF_FILE, UNITS, Change, Workload

WORKS = ("interpreter_calls", "blas_96", "memory_gather_32", "compiled_walk", "mix_of_kinds")
SLOWER = 0.25
SAVES = 10
"""All later ones are runs, to be compared with the saves."""
APART_S = 30 * 60
"""From a save to a run, at least."""
BUDGET_S = 400
NAME = "proof"

UNDISTURBED = f"""
from pytest_rlperf.worker import disturbance
from pytest_rlperf.gate import partners

partners.SAVE_BLOCKS = {LOOKS[-1]}
disturbance.NEIGHBOURS = (None,)
"""
"""Makes blocks with all kernels, as in a save, of a machine left alone, and as many as the last
look of a comparison wants: one run can be compared with every save, whichever kernels it chose.
"""


@dataclass(frozen=True)
class Measured:
    """One session: what `--rlperf-save` wrote, by name of the test."""

    created: datetime
    load: bool
    save: bool  # or a run to be compared
    tests: dict[str, Stored]

    @property
    def machine(self) -> Facts:
        """What is known of the machine; sessions of 2026-11-17 know little of it."""
        return machine_facts(next(iter(self.tests.values())).newest.facts)


def render_tests(save: bool) -> str:
    """Every work as it is and, in a run to be compared, 25 % slower: nothing is compared with a
    save of slower work.
    """
    lines = ["from proofwork import make"]
    for work in WORKS:
        lines += ["", "", f"def test_{work}(rlperf):", f'    rlperf(make("{work}"))']
        if not save:
            lines += [
                "",
                "",
                f"def test_{work}_slower(rlperf):",
                f'    rlperf(make("{work}", {round(SLOWER * UNITS)}))',
            ]
    return "\n".join(lines) + "\n"


def measure(save: bool, load: bool, seed: int, pytest: Sequence[str] = gate.PYTEST) -> str:
    """One session as the line of a file: what was measured, for what, and whether the load ran."""
    with tempfile.TemporaryDirectory(prefix="proof-") as name:
        folder = Path(name)
        scratch = folder / "scratch"
        scratch.mkdir()
        project = projects.build(folder, Workload(()), Change(), "plain", seed)
        (project.root / PERF_FILE).write_text(render_tests(save), encoding="utf-8")
        if not save:
            (project.root / "conftest.py").write_text(UNDISTURBED, encoding="utf-8")
        argv = [*pytest, PERF_FILE, "--rlperf", f"--rlperf-save={NAME}"]
        argv += [f"--rlperf-baselines={scratch}", f"--rlperf-budget={BUDGET_S}"]
        with children.running_load(load, seed):
            environment = children.suite_environment(scratch)
            ended = children.run(argv, project.root, environment, 2 * BUDGET_S)
        files = list(scratch.glob(f"*/{NAME}/**/*.json"))
        if ended.code != 0 or len(files) != 1:
            raise ValueError(f"the session ended with {ended.code}:\n{ended.tail}")
        saved = json.loads(files[0].read_text(encoding="utf-8"))
    return json.dumps({"save": save, "load": load, "measured": saved}, allow_nan=False) + "\n"


def append(path: Path, line: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> list[Measured]:
    """Return the records in the order they were measured."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_measured(json.loads(line)) for line in lines]


def _measured(content: dict[str, object]) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "session.json"
        file.write_text(json.dumps(content["measured"]), encoding="utf-8")
        stored = read_module(file)
    tests = {nodeid.rpartition("::")[2]: test for nodeid, test in stored.items()}
    created = next(iter(tests.values())).newest.created
    at = datetime.fromisoformat(created)
    return Measured(at, bool(content["load"]), bool(content["save"]), tests)


def run(path: Path, number: int) -> None:
    """Measure so many more, with the load in every other one: first those that are saved."""
    for _ in range(number):
        done = len(read(path))
        append(path, measure(save=done < SAVES, load=done % 2 == 1, seed=done))
        print(f"session {done + 1}", flush=True)
