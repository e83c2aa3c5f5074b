"""The generated projects hold exactly the change they are said to hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .children import suite_environment
from .projects import (
    BENCHMARK_FILE,
    PERF_FILE,
    VARIANTS,
    WORKLOADS,
    Change,
    Project,
    build,
    check_out,
    kind_of,
    render_unused,
)

COUNT_UNITS = """
from proofwork.work import units_of_call
from proofwork.config import EXTRA
print(sum(units_of_call(call, EXTRA) for call in range(8)))
"""


def units_in_eight_calls(project: Project, revision: str) -> int:
    check_out(project, revision)
    # No bytecode: both sides' files may be of one size and one second.
    done = subprocess.run(
        [sys.executable, "-B", "-c", COUNT_UNITS],
        cwd=project.root,
        check=True,
        capture_output=True,
        text=True,
    )
    return int(done.stdout)


def git(project: Project, *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(
        command, cwd=project.root, check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize(
    "change",
    [
        Change(0.10),
        Change(0.05),
        Change(0.04),
        Change(0.02),
        Change(0.10, every=2),
        Change(0.10, every=4),
    ],
    ids=str,
)
def test_head_does_the_injected_share_more_units_than_base(tmp_path: Path, change: Change) -> None:
    project = build(tmp_path, WORKLOADS["suite"], change, "plain", seed=0)
    base = units_in_eight_calls(project, project.base)
    head = units_in_eight_calls(project, project.head)
    assert base == 800
    assert head / base - 1 == pytest.approx(change.total)


def test_two_environments_hold_the_library_and_the_tree_does_not(tmp_path: Path) -> None:
    project = build(tmp_path, WORKLOADS["installed"], Change(0.10), "plain", seed=0)
    assert project.environments
    units = []
    for each in project.environments:
        command = [str(each.folder / "bin/python"), "-B", "-c", COUNT_UNITS]
        done = subprocess.run(command, cwd=project.root, capture_output=True, text=True)
        units.append(int(done.stdout))
    assert units == [880, 800]
    assert not (project.root / "proofwork").exists()


def test_a_change_of_no_whole_number_of_units_is_refused() -> None:
    with pytest.raises(ValueError, match="multiple of 1 %"):
        _ = Change(0.015).extra_units


def test_an_unknown_variant_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="choose one of plain"):
        build(tmp_path, WORKLOADS["suite"], Change(), "upside-down", seed=0)


def test_plain_sides_are_identical(tmp_path: Path) -> None:
    project = build(tmp_path, WORKLOADS["suite"], Change(), "plain", seed=0)
    assert project.base != project.head
    assert git(project, "diff", project.base, project.head) == ""
    assert git(project, "status", "--porcelain") == ""


def test_unused_code_is_on_head_only_and_runs(tmp_path: Path) -> None:
    project = build(tmp_path, WORKLOADS["suite"], Change(), "unused", seed=6)
    changed = git(project, "diff", "--name-only", project.base, project.head).split()
    assert changed == ["proofwork/__init__.py", "proofwork/unused.py", "proofwork/work.py"]
    assert units_in_eight_calls(project, project.head) == 800
    assert render_unused(7) in (project.root / "proofwork/work.py").read_text(encoding="utf-8")


def test_the_long_path_is_much_longer(tmp_path: Path) -> None:
    plain = build(tmp_path / "plain", WORKLOADS["suite"], Change(), "plain", seed=0)
    path = build(tmp_path / "path", WORKLOADS["suite"], Change(), "path", seed=0)
    assert len(str(path.root)) > len(str(plain.root)) + 100


@pytest.mark.parametrize("variant", VARIANTS)
def test_bytecode_is_there_in_its_own_variant_only(tmp_path: Path, variant: str) -> None:
    project = build(tmp_path, WORKLOADS["suite"], Change(), variant, seed=0)
    compiled = list((project.root / "proofwork").glob("__pycache__/*.pyc"))
    assert bool(compiled) == (variant == "bytecode")


@pytest.mark.parametrize("name", ["suite", "processes"])
def test_the_benchmarks_run(tmp_path: Path, name: str) -> None:
    workload = WORKLOADS[name]
    project = build(tmp_path, workload, Change(0.10), "plain", seed=0)
    options = ["-q", "-p", "no:rlperf", "--benchmark-disable", BENCHMARK_FILE]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=project.root,
        env=suite_environment(tmp_path),
        check=False,
        capture_output=True,
        text=True,
    )
    assert f"{len(workload.works)} passed" in done.stdout, done.stdout + done.stderr


def test_gate_and_benchmark_have_the_same_tests(tmp_path: Path) -> None:
    project = build(tmp_path, WORKLOADS["suite"], Change(), "plain", seed=0)
    perf = (project.root / PERF_FILE).read_text(encoding="utf-8")
    bench = (project.root / BENCHMARK_FILE).read_text(encoding="utf-8")
    assert perf.replace("rlperf", "benchmark") == bench
    assert all(f"def {name}(rlperf)" in perf for name in project.workload.tests)


def test_a_suite_has_ten_tests_of_three_kinds() -> None:
    kinds = [kind_of(f"{PERF_FILE}::{test}") for test in WORKLOADS["suite"].tests]
    assert sorted(kinds) == ["blas"] * 3 + ["interpreter"] * 4 + ["memory"] * 3


def test_the_suite_of_ranks_meets_in_every_call(tmp_path: Path):
    project = build(tmp_path, WORKLOADS["mpi"], Change(), "plain", seed=0)
    text = (project.root / PERF_FILE).read_text(encoding="utf-8")
    assert project.workload.tests[0] == "test_interpreter_sum[nprocs=2]"
    assert "def test_interpreter_sum(rlperf_mpi):" in text
    assert "comm.allreduce(work())" in text
