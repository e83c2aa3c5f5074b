"""Starting an MPI job: which MPI there is, which program starts the ranks, its command line and the
environment of the job.

Which MPI there is, is asked in a child: importing mpi4py.MPI here would load the library, and with
it settings that the ranks would inherit. Command line and environment are pure functions of what
was found.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from pytest_rlperf.errors import UsageError
from pytest_rlperf.options import MpiWishes

# -- which MPI there is --------------------------------------------------------------------------

PATIENCE_S = 60.0
CURE = "pip install mpi4py mpich"

QUESTION = """
import json, mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
name, version = MPI.get_vendor()
print(json.dumps({
    "vendor": name,
    "version": ".".join(map(str, version)),
    "mpi4py": mpi4py.__version__,
    "ulfm": MPI.ERR_PROC_FAILED != MPI.ERR_UNKNOWN,
}))
"""


@dataclass(frozen=True, slots=True)
class Library:
    """The MPI that mpi4py was built for, or finds."""

    vendor: str
    version: str
    mpi4py: str
    ulfm: bool  # survives the loss of a rank, where the job asks for it

    def __str__(self) -> str:
        return f"{self.vendor} {self.version}"


@dataclass(frozen=True, slots=True)
class NoMpi:
    """Why there is no MPI, and what cures that."""

    reason: str


@cache
def find_library() -> Library | NoMpi:
    """Return the MPI that there is, asked once a process: it takes as long as starting a rank."""
    if find_spec("mpi4py") is None:
        return NoMpi(f"mpi4py is not installed; {CURE}")
    try:
        asked = subprocess.run(
            [sys.executable, "-c", QUESTION],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        return NoMpi("importing mpi4py.MPI does not return; look into your MPI's installation")
    return read_answer(asked.stdout, asked.stderr)


def read_answer(stdout: str, stderr: str) -> Library | NoMpi:
    try:
        return Library(**json.loads(stdout.splitlines()[-1]))
    except (IndexError, ValueError, TypeError):
        last = (stderr.strip().splitlines() or ["it said nothing"])[-1]
        return NoMpi(f"mpi4py cannot be imported ({last}); {CURE}")


# -- which program starts the ranks, and its command line ----------------------------------------

INI = "rlperf_mpi_launcher"
NAMES = ("mpiexec", "mpirun")
OPEN_MPI = "Open MPI"


class LauncherKind(StrEnum):
    HYDRA = "hydra"  # MPICH, and what descends from it: Intel MPI, MVAPICH
    OPEN_MPI = "openmpi"
    SRUN = "srun"
    TEMPLATE = "template"  # the user's own words


@dataclass(frozen=True, slots=True)
class Launcher:
    """A program and where its ranks go."""

    kind: LauncherKind
    words: tuple[str, ...]  # the program, or all words of a template
    hostfile: str | None = None
    interface: str | None = None


def find_launcher(
    wishes: MpiWishes,
    vendor: str,
    *,
    executable: str,
    env: Mapping[str, str],
    which: Callable[[str], str | None] = shutil.which,
) -> Launcher | None:
    """Return the user's launcher, else the `mpiexec` beside the interpreter, which belongs to its
    mpi4py, else one on the PATH, else `srun` within an allocation; None: there is none.
    """
    where = {"hostfile": wishes.hostfile, "interface": wishes.interface}
    if wishes.launcher is not None:
        words = _checked(wishes.launcher)
        if which(words[0]) is None:
            raise UsageError(f"{INI} names {words[0]!r}, which is not there; correct its path.")
        if len(words) > 1:
            return Launcher(LauncherKind.TEMPLATE, words, **where)
        return Launcher(_kind_of(words[0], vendor), words, **where)
    beside = [str(Path(executable).parent / name) for name in NAMES]
    names = [*beside, *NAMES, *(("srun",) if "SLURM_JOB_ID" in env else ())]
    program = next((path for path in map(which, names) if path), None)
    return None if program is None else Launcher(_kind_of(program, vendor), (program,), **where)


def pick_launcher(
    library: Library | NoMpi, wishes: MpiWishes, *, executable: str, env: Mapping[str, str]
) -> Launcher | str:
    """Return the launcher for this MPI, or why there is none."""
    if isinstance(library, NoMpi):
        return f"no MPI: {library.reason}"
    launcher = find_launcher(wishes, library.vendor, executable=executable, env=env)
    return launcher or f"no MPI: there is no mpiexec for {library}; {CURE}"


def _kind_of(program: str, vendor: str) -> LauncherKind:
    if os.path.basename(program) == "srun":
        return LauncherKind.SRUN
    return LauncherKind.OPEN_MPI if vendor == OPEN_MPI else LauncherKind.HYDRA


def _checked(template: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(template))
    except ValueError as error:
        raise UsageError(f"{INI} cannot be read ({error}); correct its quotes.") from None
    if not words:
        raise UsageError(f"{INI} names no program; write mpiexec, for example, or leave it out.")
    if len(words) > 1 and not any("{nprocs}" in word for word in words):
        raise UsageError(
            f"{INI} is {template!r}, which does not say where the number of ranks goes; "
            f"write {{nprocs}} there, as in 'mpiexec -n {{nprocs}}'."
        )
    return words


def job_argv(launcher: Launcher, nprocs: int, command: Sequence[str]) -> list[str]:
    """Return the words that start `command` as `nprocs` ranks."""
    build = {
        LauncherKind.HYDRA: _hydra,
        LauncherKind.OPEN_MPI: _open_mpi,
        LauncherKind.SRUN: _srun,
        LauncherKind.TEMPLATE: _template,
    }[launcher.kind]
    return build(launcher, nprocs, list(command))


def _hydra(launcher: Launcher, nprocs: int, command: list[str]) -> list[str]:
    argv = [*launcher.words, "-n", str(nprocs)]
    if launcher.hostfile:
        argv += ["-f", launcher.hostfile]
    if launcher.interface:
        argv += ["-iface", launcher.interface]
    return argv + command


def _open_mpi(launcher: Launcher, nprocs: int, command: list[str]) -> list[str]:
    """Let ranks be unpinned, since they pin themselves, and more than the cores."""
    argv = [*launcher.words, "-n", str(nprocs), "--oversubscribe", "--bind-to", "none"]
    if launcher.hostfile:
        argv += ["--hostfile", launcher.hostfile]
    if launcher.interface:
        argv += ["--mca", "btl_tcp_if_include", launcher.interface]
    return argv + command


def _srun(launcher: Launcher, nprocs: int, command: list[str]) -> list[str]:
    if launcher.interface:
        raise UsageError(
            "srun has no option for a network interface; leave rlperf_mpi_interface out and set "
            f"what your MPI reads in the environment, or write a template into {INI}."
        )
    argv = [*launcher.words, f"--ntasks={nprocs}", "--overcommit", "--cpu-bind=none"]
    argv += ["--kill-on-bad-exit=1", "--input=none"]
    if launcher.hostfile:
        argv.append(f"--nodefile={launcher.hostfile}")
    return argv + command


def _template(launcher: Launcher, nprocs: int, command: list[str]) -> list[str]:
    """Fill the user's template, where `{command}` is one word; without it the command is last."""
    values = {"{nprocs}": str(nprocs)}
    for name in ("hostfile", "interface"):
        value = getattr(launcher, name)
        placeholder = f"{{{name}}}"
        used = any(placeholder in word for word in launcher.words)
        if used != bool(value):
            raise UsageError(_unmatched(name, placeholder, used))
        values[placeholder] = value or ""
    argv: list[str] = []
    for word in launcher.words:
        if word == "{command}":
            argv += command
            continue
        for placeholder, value in values.items():
            word = word.replace(placeholder, value)
        argv.append(word)
    return argv if "{command}" in launcher.words else argv + command


def _unmatched(name: str, placeholder: str, used: bool) -> str:
    if used:
        return f"{INI} has the placeholder {placeholder}; set rlperf_mpi_{name} too."
    return (
        f"rlperf_mpi_{name} is set, but {INI} does not say where it goes; "
        f"write {placeholder} there."
    )


# -- the environment of a job, and what decides how fast its ranks exchange messages -------------

JOB = "RLPERF_MPI_JOB"
"""Marks the processes of one job, ranks and their children included."""

SCRUBBED_PREFIXES = (
    "PMI_", "PMIX_", "HYDI_", "MPI_LOCAL", "OMPI_COMM_WORLD_", "OMPI_WORLD_", "PRTE_",
)  # fmt: skip
"""Left by an outer job: ranks would take themselves for part of it. What the user set stays."""

SCRUBBED = frozenset({"PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"})

ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
"""In containers tests run as root, which Open MPI refuses otherwise."""

SESSIONS_OF_OPEN_MPI = "PRTE_MCA_prte_local_tmpdir_base"
"""Names the folder in which its launcher keeps a job's files, on the host of the launcher."""


def job_environment(inherited: Mapping[str, str], token: str, folder: Path) -> dict[str, str]:
    """Return the environment of a job's processes, made of the run's own. What Open MPI's launcher
    leaves behind when it is killed lies in the `folder` of the job, on this host.
    """
    env = {n: v for n, v in inherited.items() if not n.startswith(SCRUBBED_PREFIXES)}
    env = {n: v for n, v in env.items() if n not in SCRUBBED}
    return {**ROOT, **env, SESSIONS_OF_OPEN_MPI: str(folder), JOB: token}


AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")


def has_autogroups(setting: Path = AUTOGROUP) -> bool | None:
    """Return whether a core is shared between sessions, not processes; None: it is not known."""
    try:
        return setting.read_text().strip() == "1"
    except OSError:
        return None


def mpi_facts(library: Library, launcher: Launcher, cores: int) -> dict[str, object]:
    """Return what the fingerprint of a result with MPI tests says of MPI."""
    return {
        "vendor": library.vendor,
        "version": library.version,
        "mpi4py": library.mpi4py,
        "launcher": " ".join(launcher.words),
        "kind": launcher.kind.value,
        "cores": cores,
        "autogroup": has_autogroups(),
    }
