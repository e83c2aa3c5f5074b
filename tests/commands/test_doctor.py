"""What the doctor says of a machine and of an MPI."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf.commands import doctor
from pytest_rlperf.commands.doctor import (
    Finding,
    HostFacts,
    judge_host,
    left_findings,
    loop_drift,
    mpi_findings,
    read_facts,
    render_findings,
    render_mpi,
    render_no_mpi,
)
from pytest_rlperf.mpi.launcher import Launcher, LauncherKind, Library, has_autogroups, mpi_facts

MPICH = Library("MPICH", "5.0.2", "4.1.2", ulfm=False)
OPEN_MPI = Library("Open MPI", "5.0.11", "4.1.2", ulfm=True)
HYDRA = Launcher(LauncherKind.HYDRA, ("mpiexec",))
PRTE = Launcher(LauncherKind.OPEN_MPI, ("mpiexec",))


def hurts(library: Library, launcher: Launcher, cores: int, autogroups: bool | None) -> str:
    found = mpi_findings(library, launcher, cores, autogroups)
    return "; ".join(finding.text for finding in found if finding.hurts)


def test_autogroups_hurt_where_every_rank_has_its_own():
    assert "autogroups are on" in hurts(MPICH, HYDRA, 2, True)
    assert hurts(OPEN_MPI, PRTE, 2, True) == ""


@pytest.mark.parametrize("autogroups", [False, None])
def test_a_scheduler_without_autogroups_hurts_nobody(autogroups: bool | None):
    assert hurts(MPICH, HYDRA, 2, autogroups) == ""


def test_ranks_that_cannot_be_pinned_hurt():
    assert "cannot be pinned" in hurts(OPEN_MPI, PRTE, 0, None)


def test_the_mpi_is_named_with_its_launcher():
    shown = render_mpi(MPICH, HYDRA, mpi_findings(MPICH, HYDRA, 2, False))
    assert shown.splitlines() == [
        "MPICH 5.0.2 (mpi4py 4.1.2), started by mpiexec (hydra), "
        "without ULFM: a lost rank ends its job",
        "  helps  rank k of both sides is pinned to core k: up to 2 ranks have their own",
    ]
    assert "ULFM: a job can survive" in render_mpi(
        OPEN_MPI, PRTE, mpi_findings(OPEN_MPI, PRTE, 2, None)
    )


def test_memory_that_killed_jobs_left_is_named_with_what_to_do(tmp_path: Path):
    files = [tmp_path / "mpich_shm_1_0", tmp_path / "mpich_shm_2_0", tmp_path / "gone"]
    for file in files[:2]:
        file.write_bytes(bytes(2**20))
    (finding,) = left_findings(files)
    assert finding.hurts
    assert "jobs that were killed left 3 files of shared memory, 2 MiB, which" in finding.text
    assert finding.text.endswith(f"rm {files[0]} {files[1]} {files[2]}")
    assert left_findings([]) == []


def test_no_mpi_is_named_with_its_cure():
    shown = render_no_mpi("no MPI: mpi4py is not installed; pip install mpi4py mpich")
    assert shown.endswith("pip install mpi4py mpich; tests in MPI ranks are skipped")


@pytest.mark.parametrize(("text", "found"), [("1\n", True), ("0\n", False)])
def test_the_kernel_says_whether_there_are_autogroups(tmp_path: Path, text: str, found: bool):
    (tmp_path / "setting").write_text(text)
    assert has_autogroups(tmp_path / "setting") is found


def test_another_kernel_says_nothing_of_autogroups(tmp_path: Path):
    assert has_autogroups(tmp_path / "setting") is None


def test_the_fingerprint_tells_what_started_the_ranks():
    facts = mpi_facts(MPICH, HYDRA, 2)
    assert (facts["vendor"], facts["version"], facts["mpi4py"]) == ("MPICH", "5.0.2", "4.1.2")
    assert (facts["launcher"], facts["kind"], facts["cores"]) == ("mpiexec", "hydra", 2)
    assert "autogroup" in facts


# The doctor's findings as a reader sees them.


SMT, GIT, QUIET = Finding(True, "SMT is on"), Finding(True, "no git"), Finding(False, "quiet")


@pytest.mark.parametrize(
    ("findings", "text"),
    [
        ([QUIET], "Some CPU: nothing hurts measuring here\n  helps  quiet"),
        ([SMT, QUIET], "Some CPU: one thing hurts measuring\n  hurts  SMT is on\n  helps  quiet"),
        ([SMT, GIT], "Some CPU: 2 things hurt measuring\n  hurts  SMT is on\n  hurts  no git"),
    ],
)
def test_what_hurts_is_counted_and_listed(findings: list[Finding], text: str):
    assert render_findings("Some CPU", findings) == text


# The findings on the facts of a machine.


GOOD = HostFacts(
    cores=4,
    sees_delay=True,
    fixed_addresses=True,
    smt=False,
    governor="performance",
    turbo=False,
    quota_cores=None,
    steal=0.0,
    load=0.1,
    drift=0.01,
    git=True,
)


def hurting(**facts: Any) -> list[str]:
    return [finding.text for finding in judge_host(replace(GOOD, **facts)) if finding.hurts]


def test_a_good_machine_has_helps_only():
    assert hurting() == []
    assert [finding.text for finding in judge_host(GOOD)] == [
        "processes can be pinned: both sides share one of 4 cores",
        "the kernel tells how long a process waited for a core: it is left out",
        "both sides have the interpreter at the same addresses",
        "a fixed loop varies by 1.0% within a second: quiet",
    ]


@pytest.mark.parametrize(
    ("facts", "start"),
    [
        ({"cores": 1}, "only one core"),
        ({"sees_delay": False}, "no run-queue delay"),
        ({"fixed_addresses": False}, "address randomisation cannot be switched off"),
        ({"smt": True}, "SMT is on"),
        ({"governor": "powersave"}, "the frequency governor is 'powersave'"),
        ({"turbo": True}, "turbo is on"),
        ({"quota_cores": 1.5}, "the container may use 1.5 cores' time"),
        ({"steal": 0.25}, "the hypervisor took 25% of the time away"),
        ({"load": 3.0}, "3.0 processes want to run"),
        ({"drift": 0.3}, "a fixed loop varies by 30.0% within a second: absolute times"),
        ({"git": False}, "git is missing"),
    ],
)
def test_what_hurts_is_said(facts: dict[str, Any], start: str):
    (text,) = hurting(**facts)
    assert text.startswith(start)


def test_a_platform_that_cannot_pin_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    (text,) = hurting(cores=0)
    assert text.startswith("darwin cannot pin processes")
    assert "gate on Linux, or raise --rlperf-budget" in text


@pytest.mark.parametrize(
    "facts",
    [
        {"smt": None, "governor": None, "turbo": None, "load": None},
        {"quota_cores": 4.0},
        {"steal": 0.01},
        {"load": 1.9},
    ],
)
def test_what_is_unknown_or_small_does_not_hurt(facts: dict[str, Any]):
    assert hurting(**facts) == []


def test_what_hurts_comes_first():
    found = judge_host(replace(GOOD, git=False, smt=True))
    assert [finding.hurts for finding in found] == [True, True, False, False, False, False]


def test_a_steady_loop_drifts_little_and_a_drift_is_never_negative():
    assert loop_drift(0.0) >= 0


def test_facts_are_read_from_the_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name, text in {
        "smt/active": "1\n",
        "cpu0/cpufreq/scaling_governor": "powersave\n",
        "cpufreq/boost": "0\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    monkeypatch.setattr(doctor, "SYS", tmp_path)
    monkeypatch.setattr(doctor, "CGROUP_MAX", tmp_path / "cpu.max")
    monkeypatch.setattr(doctor, "STEAL_WATCH_S", 0.0)
    facts = read_facts()
    assert (facts.smt, facts.governor, facts.turbo) == (True, "powersave", False)
    assert facts.quota_cores == 1.5


@pytest.mark.parametrize("text", [None, "max 100000\n", ""])
def test_what_the_system_does_not_say_is_unknown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | None
):
    if text is not None:
        (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(doctor, "SYS", tmp_path / "missing")
    monkeypatch.setattr(doctor, "CGROUP_MAX", tmp_path / "cpu.max")
    monkeypatch.setattr(doctor, "STEAL_WATCH_S", 0.0)
    facts = read_facts()
    assert {facts.smt, facts.governor, facts.turbo, facts.quota_cores} == {None}
