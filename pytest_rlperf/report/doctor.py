"""The doctor's findings as text."""

from collections.abc import Sequence

from pytest_rlperf.launch.mpi.launcher import Launcher
from pytest_rlperf.launch.mpi.library import Library
from pytest_rlperf.measure.machine import Finding


def render_findings(cpu: str, findings: Sequence[Finding]) -> str:
    hurting = sum(finding.hurts for finding in findings)
    verdict = "nothing hurts measuring here" if not hurting else f"{hurting} things hurt measuring"
    if hurting == 1:
        verdict = "one thing hurts measuring"
    return "\n".join([f"{cpu}: {verdict}", *_lines(findings)])


def render_mpi(library: Library, launcher: Launcher, findings: Sequence[Finding]) -> str:
    """The MPI by name, then what it means for measuring."""
    ulfm = "" if library.ulfm else ", without ULFM: a lost rank ends its job"
    words = " ".join(launcher.words)
    title = f"{library} (mpi4py {library.mpi4py}), started by {words} ({launcher.kind.value}){ulfm}"
    return "\n".join([title, *_lines(findings)])


def render_no_mpi(reason: str) -> str:
    return f"{reason}; tests in MPI ranks are skipped"


def _lines(findings: Sequence[Finding]) -> list[str]:
    return [f"  {'hurts' if finding.hurts else 'helps'}  {finding.text}" for finding in findings]
