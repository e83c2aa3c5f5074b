"""What helps or hurts measuring MPI ranks here."""

from collections.abc import Iterator

from pytest_rlperf.launch.mpi.launcher import Kind, Launcher
from pytest_rlperf.launch.mpi.library import Library
from pytest_rlperf.measure.machine import Finding

OWN_SESSIONS = frozenset({Kind.HYDRA})
"""Launchers that give every rank a session, and so a scheduler's autogroup, of its own."""


def mpi_findings(
    library: Library, launcher: Launcher, cores: int, autogroups: bool | None
) -> list[Finding]:
    """What hurts first."""
    found = [*_pinning(cores), *_autogroups(launcher, autogroups), *_ulfm(library)]
    return sorted(found, key=lambda finding: not finding.hurts)


def _pinning(cores: int) -> Iterator[Finding]:
    if cores:
        yield Finding(
            False, f"rank k of both sides is pinned to core k: up to {cores} ranks have their own"
        )
    else:
        yield Finding(True, "ranks cannot be pinned: the two sides sit on different cores")


def _autogroups(launcher: Launcher, autogroups: bool | None) -> Iterator[Finding]:
    if autogroups and launcher.kind in OWN_SESSIONS:
        yield Finding(
            True,
            "scheduler autogroups are on, and every rank has one of its own: with more ranks than "
            "cores a small Allreduce takes several times as long; write 0 into "
            "/proc/sys/kernel/sched_autogroup_enabled, or stay within the cores",
        )


def _ulfm(library: Library) -> Iterator[Finding]:
    if library.ulfm:
        yield Finding(False, "ULFM: a job can survive the loss of a rank, where it asks for that")
