"""``python -m tests.evidence.proof.memory.timing [RUNS]``: does a test that also asks for memory
read another time than its twin that does not?

In every run both are in one suite, on the same work, and the gate measures them as usual. Printed
is the ratio of what it read for the two, as geometric mean over the runs with its 95 % interval.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pytest_rlperf.stats.estimate import t_quantile

from .. import children, gate, projects
from ..projects import PERF_FILE, Change, Workload

WORKS = ("interpreter_calls", "blas_96", "memory_gather_32")
BUDGET_S = 60
DEADLINE_S = 600
"""Of a suite, memory included."""


def render_tests() -> str:
    lines = ["import pytest", "from proofwork import make"]
    for work in WORKS:
        for marker, name in (("", work), ("@pytest.mark.rlperf(memory=True)", f"{work}_memory")):
            lines += ["", "", *[marker] * bool(marker), f"def test_{name}(rlperf):"]
            lines += [f'    rlperf(make("{work}"))']
    return "\n".join(lines) + "\n"


def log_ratios(seed: int, pytest: Sequence[str] = gate.PYTEST) -> dict[str, float]:
    """Of one run: the time with a memory pass over that without, by work."""
    with tempfile.TemporaryDirectory(prefix="proof-") as name:
        folder = Path(name)
        scratch = folder / "scratch"
        scratch.mkdir()
        project = projects.build(folder, Workload(()), Change(), "plain", seed)
        (project.root / PERF_FILE).write_text(render_tests(), encoding="utf-8")
        result = scratch / "result.json"
        argv = [*pytest, PERF_FILE, "--rlperf", f"--rlperf-against={project.base}", gate.MEASURE]
        argv += [f"--rlperf-json={result}", f"--rlperf-budget={BUDGET_S}"]
        ended = children.run(argv, project.root, children.suite_environment(scratch), DEADLINE_S)
        if not result.exists():
            raise ValueError(f"the suite ended with {ended.code}:\n{ended.tail}")
        tests = json.loads(result.read_text(encoding="utf-8"))["tests"]
    times = {test["nodeid"].rpartition("::test_")[2]: _time(test) for test in tests}
    return {work: math.log(times[f"{work}_memory"] / times[work]) for work in WORKS}


def _time(test: dict[str, object]) -> float:
    metrics = test["metrics"]
    assert isinstance(metrics, list)
    return float(next(metric["value"] for metric in metrics if metric["name"] == "time"))


def render(runs: Sequence[dict[str, float]]) -> str:
    reach = t_quantile(0.975, len(runs) - 1) / math.sqrt(len(runs))
    lines = []
    for work in WORKS:
        found = [run[work] for run in runs]
        middle, half = statistics.mean(found), reach * statistics.stdev(found)
        low, at, high = (math.expm1(x) for x in (middle - half, middle, middle + half))
        lines.append(f"{work:20}{at:+.2%} ({low:+.2%} to {high:+.2%}), {len(runs)} runs")
    return "\n".join(lines)


def main(argv: Sequence[str]) -> None:
    n_runs = int(argv[0]) if argv else 10
    print(render([log_ratios(seed) for seed in range(n_runs)]))


if __name__ == "__main__":
    main(sys.argv[1:])
