"""`rlperf doctor`: what on this machine, and with its MPI, helps or hurts measuring."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence

from pytest_rlperf.machine.findings import Finding, findings, read_facts
from pytest_rlperf.machine.fingerprint import cpu_model
from pytest_rlperf.mpi.launcher import (
    Launcher,
    LauncherKind,
    Library,
    NoMpi,
    find_library,
    has_autogroups,
    pick_launcher,
)
from pytest_rlperf.options import MpiWishes


def add_arguments(parser: ArgumentParser) -> None:
    """Add nothing: the command takes no arguments."""


def run(arguments: Namespace) -> int:
    facts = read_facts()
    print(render_findings(cpu_model(), findings(facts)))
    print(mpi_text(facts.cores))
    return 0


def mpi_text(cores: int) -> str:
    """Tell of the MPI as it is found without a project's pytest configuration."""
    library = find_library()
    picked = pick_launcher(library, MpiWishes(), executable=sys.executable, env=os.environ)
    if isinstance(library, NoMpi) or isinstance(picked, str):
        return render_no_mpi(str(picked))
    return render_mpi(library, picked, mpi_findings(library, picked, cores, has_autogroups()))


def render_findings(cpu: str, findings: Sequence[Finding]) -> str:
    hurting = sum(finding.hurts for finding in findings)
    verdict = "nothing hurts measuring here" if not hurting else f"{hurting} things hurt measuring"
    if hurting == 1:
        verdict = "one thing hurts measuring"
    return "\n".join([f"{cpu}: {verdict}", *_lines(findings)])


def render_mpi(library: Library, launcher: Launcher, findings: Sequence[Finding]) -> str:
    """Name the MPI, then say what it means for measuring."""
    ulfm = "" if library.ulfm else ", without ULFM: a lost rank ends its job"
    words = " ".join(launcher.words)
    title = f"{library} (mpi4py {library.mpi4py}), started by {words} ({launcher.kind.value}){ulfm}"
    return "\n".join([title, *_lines(findings)])


def render_no_mpi(reason: str) -> str:
    return f"{reason}; tests in MPI ranks are skipped"


def _lines(findings: Sequence[Finding]) -> list[str]:
    return [f"  {'hurts' if finding.hurts else 'helps'}  {finding.text}" for finding in findings]


OWN_SESSIONS = frozenset({LauncherKind.HYDRA})
"""Launchers that give every rank a session, and so a scheduler's autogroup, of its own."""


def mpi_findings(
    library: Library, launcher: Launcher, cores: int, autogroups: bool | None
) -> list[Finding]:
    """Judge what the MPI means for measuring; what hurts comes first."""
    judged = [*_pinning(cores), *_autogroups(launcher, autogroups), *_ulfm(library)]
    return sorted(judged, key=lambda finding: not finding.hurts)


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
