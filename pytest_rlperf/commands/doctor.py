"""`rlperf doctor`: what on this machine, and with its MPI, helps or hurts measuring.

Facts are read from the system, then judged.
"""

import os
import shutil
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.leaving import left_by_ranks
from pytest_rlperf.machine.fingerprint import cpu_name
from pytest_rlperf.machine.host import (
    STEAL_HURTS,
    available_cores,
    can_fix_addresses,
    core_ticks,
    steal_share,
)
from pytest_rlperf.model.quantity import format_bytes
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
from pytest_rlperf.worker.clock import SystemClock


@dataclass(frozen=True, slots=True)
class HostFacts:
    """Facts that decide how well this machine measures; None: the system does not say."""

    cores: int  # that can be pinned to; 0: none
    sees_delay: bool
    fixed_addresses: bool
    smt: bool | None
    governor: str | None
    turbo: bool | None
    quota_cores: float | None  # CPU time allowed by the container, in cores
    steal: float
    load: float | None  # runnable processes, average over a minute
    drift: float  # spread of a fixed loop's own time over a second
    git: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence on something that hurts measuring, or that helps."""

    hurts: bool
    text: str


def add_arguments(parser: ArgumentParser) -> None:
    """Add nothing: the command takes no arguments."""


def run(arguments: Namespace) -> int:
    facts = read_facts()
    print(render_findings(cpu_name(), judge_host(facts)))
    print(mpi_text(facts.cores))
    return 0


def mpi_text(cores: int) -> str:
    """Tell of the MPI as it is found without a project's pytest configuration."""
    library = find_library()
    picked = pick_launcher(library, MpiWishes(), executable=sys.executable, env=os.environ)
    if isinstance(library, NoMpi) or isinstance(picked, str):
        return render_no_mpi(str(picked))
    findings = mpi_findings(library, picked, cores, has_autogroups())
    return render_mpi(library, picked, [*left_findings(left_by_ranks()), *findings])


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


# -- the machine ----------------------------------------------------------------------------------

SYS = Path("/sys/devices/system/cpu")
CGROUP_MAX = Path("/sys/fs/cgroup/cpu.max")
STEAL_WATCH_S = 1.0
DRIFT_HURTS = 0.05


def read_facts() -> HostFacts:
    before = core_ticks(None)
    drift = loop_drift(STEAL_WATCH_S)
    return HostFacts(
        cores=len(available_cores()),
        sees_delay=SystemClock().sees_delay,
        fixed_addresses=can_fix_addresses(),
        smt=_flag(SYS / "smt" / "active"),
        governor=_read(SYS / "cpu0" / "cpufreq" / "scaling_governor"),
        turbo=_flag(SYS / "cpufreq" / "boost"),
        quota_cores=_quota(_read(CGROUP_MAX)),
        steal=steal_share(before, core_ticks(None)),
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        drift=drift,
        git=shutil.which("git") is not None,
    )


def loop_drift(seconds: float) -> float:
    """Return the interdecile spread of a fixed loop's own time, relative to its median."""
    clock = SystemClock()
    times: list[int] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until or len(times) < 10:
        clock.start()
        sum(range(20_000))
        times.append(clock.stop().own_ns)
    times.sort()
    tenth = len(times) // 10
    return (times[-1 - tenth] - times[tenth]) / times[len(times) // 2]


def judge_host(facts: HostFacts) -> list[Finding]:
    """Judge the facts; what hurts comes first."""
    judged = [finding for check in CHECKS if (finding := check(facts)) is not None]
    return sorted(judged, key=lambda finding: not finding.hurts)


def _pinning(f: HostFacts) -> Finding:
    if f.cores:
        return Finding(False, f"processes can be pinned: both sides share one of {f.cores} cores")
    return Finding(
        True,
        f"{sys.platform} cannot pin processes: intervals are several times wider; "
        "gate on Linux, or raise --rlperf-budget",
    )


def _delay(f: HostFacts) -> Finding:
    if f.sees_delay:
        return Finding(
            False, "the kernel tells how long a process waited for a core: it is left out"
        )
    return Finding(True, "no run-queue delay (/proc/self/schedstat): CPU time stands in for it")


def _addresses(f: HostFacts) -> Finding:
    if f.fixed_addresses:
        return Finding(False, "both sides have the interpreter at the same addresses")
    return Finding(
        True,
        "address randomisation cannot be switched off for single processes: interpreted code "
        "varies twice as much; a container may need --security-opt seccomp=unconfined",
    )


def _one_core(f: HostFacts) -> Finding | None:
    if f.cores != 1:
        return None
    return Finding(True, "only one core: everything else that runs is in between; allow a second")


def _smt(f: HostFacts) -> Finding | None:
    if f.smt:
        return Finding(
            True, "SMT is on: a neighbour on the same core changes the speed; turn it off"
        )
    return None


def _governor(f: HostFacts) -> Finding | None:
    if f.governor in (None, "performance"):
        return None
    return Finding(
        True, f"the frequency governor is {f.governor!r}: set it to 'performance' for less noise"
    )


def _turbo(f: HostFacts) -> Finding | None:
    if f.turbo:
        return Finding(True, "turbo is on: clock speed follows heat and neighbours; turn it off")
    return None


def _throttled(f: HostFacts) -> Finding | None:
    if f.quota_cores is None or f.quota_cores >= max(1, f.cores):
        return None
    return Finding(
        True,
        f"the container may use {f.quota_cores:.2g} cores' time and is stopped beyond it; "
        "raise the limit, or run with fewer cores",
    )


def _steal(f: HostFacts) -> Finding | None:
    if f.steal < STEAL_HURTS:
        return None
    return Finding(True, f"the hypervisor took {f.steal:.0%} of the time away: expect more blocks")


def _busy(f: HostFacts) -> Finding | None:
    if f.load is None or f.load < 0.5 * max(1, f.cores):
        return None
    return Finding(True, f"{f.load:.1f} processes want to run: verdicts hold, but take longer")


def _drift(f: HostFacts) -> Finding:
    text = f"a fixed loop varies by {f.drift:.1%} within a second"
    if f.drift < DRIFT_HURTS:
        return Finding(False, f"{text}: quiet")
    return Finding(True, f"{text}: absolute times mean little here, the duet's ratios still hold")


def _git(f: HostFacts) -> Finding | None:
    return None if f.git else Finding(True, "git is missing: --rlperf-against needs it")


CHECKS: tuple[Callable[[HostFacts], Finding | None], ...] = (
    _pinning, _delay, _addresses, _one_core, _throttled, _smt, _governor, _turbo, _steal, _busy,
    _drift, _git,
)  # fmt: skip


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _flag(path: Path) -> bool | None:
    text = _read(path)
    return None if text is None else text == "1"


def _quota(text: str | None) -> float | None:
    """Read cgroup v2's "max 100000" or "50000 100000" as a number of cores."""
    parts = (text or "").split()
    if len(parts) != 2 or parts[0] == "max":
        return None
    return int(parts[0]) / int(parts[1])


# -- its MPI --------------------------------------------------------------------------------------


def left_findings(files: Sequence[Path]) -> list[Finding]:
    """Name the memory that nobody has any more; a killed MPI job leaves it."""
    if not files:
        return []
    size = format_bytes(sum(file.stat().st_size for file in files if file.exists()))
    return [
        Finding(
            True,
            f"MPI jobs that were killed left {len(files)} files of shared memory, {size}, which no "
            f"process here has: rm {' '.join(map(str, files))}",
        )
    ]


OWN_SESSIONS = frozenset({LauncherKind.HYDRA})
"""Launchers that give every rank a session, and so a scheduler's autogroup, of its own."""


def mpi_findings(
    library: Library, launcher: Launcher, cores: int, autogroups: bool | None
) -> list[Finding]:
    """Judge what the MPI means for measuring; what hurts comes first."""
    judged = _mpi_findings(library, launcher, cores, autogroups)
    return sorted(judged, key=lambda finding: not finding.hurts)


def _mpi_findings(
    library: Library, launcher: Launcher, cores: int, autogroups: bool | None
) -> Iterator[Finding]:
    if cores:
        yield Finding(
            False, f"rank k of both sides is pinned to core k: up to {cores} ranks have their own"
        )
    else:
        yield Finding(True, "ranks cannot be pinned: the two sides sit on different cores")
    if autogroups and launcher.kind in OWN_SESSIONS:
        yield Finding(
            True,
            "scheduler autogroups are on, and every rank has one of its own: with more ranks than "
            "cores a small Allreduce takes several times as long; write 0 into "
            "/proc/sys/kernel/sched_autogroup_enabled, or stay within the cores",
        )
    if library.ulfm:
        yield Finding(False, "ULFM: a job can survive the loss of a rank, where it asks for that")
