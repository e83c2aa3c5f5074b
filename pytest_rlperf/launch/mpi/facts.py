"""What decides how fast ranks exchange messages here, besides their code."""

from pathlib import Path
from typing import Any

from pytest_rlperf.launch.mpi.launcher import Launcher
from pytest_rlperf.launch.mpi.library import Library

AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")


def has_autogroups(setting: Path = AUTOGROUP) -> bool | None:
    """Whether the scheduler shares a core between sessions rather than processes; None: it does
    not say.
    """
    try:
        return setting.read_text().strip() == "1"
    except OSError:
        return None


def mpi_facts(library: Library, launcher: Launcher, cores: int) -> dict[str, Any]:
    """For the fingerprint of a result with MPI tests."""
    return {
        "vendor": library.vendor,
        "version": library.version,
        "mpi4py": library.mpi4py,
        "launcher": " ".join(launcher.words),
        "kind": launcher.kind.value,
        "cores": cores,
        "autogroup": has_autogroups(),
    }
