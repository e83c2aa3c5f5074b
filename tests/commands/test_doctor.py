"""What the doctor says of an MPI."""

from pathlib import Path

import pytest

from pytest_rlperf.commands.doctor import mpi_findings, render_findings, render_mpi, render_no_mpi
from pytest_rlperf.machine.findings import Finding
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
