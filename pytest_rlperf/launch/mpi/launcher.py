"""Which program starts the ranks, and its command line: a pure function of what was found."""

import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pytest_rlperf.errors import UsageError
from pytest_rlperf.launch.mpi.library import CURE, Library, NoMpi
from pytest_rlperf.options import MpiWishes

INI = "rlperf_mpi_launcher"
NAMES = ("mpiexec", "mpirun")
OPEN_MPI = "Open MPI"


class Kind(StrEnum):
    HYDRA = "hydra"  # MPICH, and what descends from it: Intel MPI, MVAPICH
    OPEN_MPI = "openmpi"
    SRUN = "srun"
    TEMPLATE = "template"  # the user's own words


@dataclass(frozen=True, slots=True)
class Launcher:
    """A program and where its ranks go."""

    kind: Kind
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
    """The user's, else the `mpiexec` beside the interpreter, which belongs to its mpi4py, else one
    on the PATH, else `srun` within an allocation; None: there is none.
    """
    where = {"hostfile": wishes.hostfile, "interface": wishes.interface}
    if wishes.launcher is not None:
        words = _checked(wishes.launcher)
        if which(words[0]) is None:
            raise UsageError(f"{INI} names {words[0]!r}, which is not there; correct its path.")
        if len(words) > 1:
            return Launcher(Kind.TEMPLATE, words, **where)
        return Launcher(_kind_of(words[0], vendor), words, **where)
    beside = [str(Path(executable).parent / name) for name in NAMES]
    names = [*beside, *NAMES, *(("srun",) if "SLURM_JOB_ID" in env else ())]
    found = next((path for path in map(which, names) if path), None)
    return None if found is None else Launcher(_kind_of(found, vendor), (found,), **where)


def pick_launcher(
    library: Library | NoMpi, wishes: MpiWishes, *, executable: str, env: Mapping[str, str]
) -> Launcher | str:
    """The launcher for this MPI, or why there is none."""
    if isinstance(library, NoMpi):
        return f"no MPI: {library.reason}"
    found = find_launcher(wishes, library.vendor, executable=executable, env=env)
    return found or f"no MPI: there is no mpiexec for {library}; {CURE}"


def _kind_of(program: str, vendor: str) -> Kind:
    if os.path.basename(program) == "srun":
        return Kind.SRUN
    return Kind.OPEN_MPI if vendor == OPEN_MPI else Kind.HYDRA


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
    """The words that start `command` as `nprocs` ranks."""
    return BUILDERS[launcher.kind](launcher, nprocs, list(command))


def _hydra(launcher: Launcher, nprocs: int, command: list[str]) -> list[str]:
    argv = [*launcher.words, "-n", str(nprocs)]
    if launcher.hostfile:
        argv += ["-f", launcher.hostfile]
    if launcher.interface:
        argv += ["-iface", launcher.interface]
    return argv + command


def _open_mpi(launcher: Launcher, nprocs: int, command: list[str]) -> list[str]:
    """Ranks pin themselves, and may be more than the cores."""
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
    """`{command}` is a word of its own; without it the command comes last."""
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


BUILDERS: Mapping[Kind, Callable[[Launcher, int, list[str]], list[str]]] = {
    Kind.HYDRA: _hydra,
    Kind.OPEN_MPI: _open_mpi,
    Kind.SRUN: _srun,
    Kind.TEMPLATE: _template,
}
