"""What a pytest session hands on to the workers that it starts: their arguments, the values of
options, the launcher of ranks, and the stage with both trees and their caches.
"""

import datetime
import json
import os
import random
import re
import secrets
import sys
from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_rlperf.environments.environment import (
    Description,
    Environment,
    environment_of,
    link_measuring_code,
)
from pytest_rlperf.errors import RlperfError
from pytest_rlperf.gate.partners import Kernels, Partner
from pytest_rlperf.gate.selection import nprocs_of
from pytest_rlperf.leaving import temporary_folder
from pytest_rlperf.machine.host import one_of_each_first, physical_cores
from pytest_rlperf.model.code import CodeChanges
from pytest_rlperf.model.environment import OtherPython
from pytest_rlperf.model.result import Fingerprint
from pytest_rlperf.mpi.launcher import Launcher, Library, find_library, mpi_facts, pick_launcher
from pytest_rlperf.options import Settings, read_mpi_wishes
from pytest_rlperf.trees.base_tree import BaseTree, lay_out
from pytest_rlperf.trees.cache import cache_folder, digest, seed_bytecode, share_kernels
from pytest_rlperf.trees.code_changes import SameCode, TwoTrees, code_changes, files_to_compare
from pytest_rlperf.trees.git import Revision, listed, top_level
from pytest_rlperf.trees.imports import KEEP, import_roots
from pytest_rlperf.trees.overlay import overlay_files
from pytest_rlperf.wire import BASE, HEAD
from pytest_rlperf.workers.lanes import LANES_MAX
from pytest_rlperf.workers.pair import Side, Stage

OWN_WARNING = (
    "ignore:Module already imported so cannot be rewritten:pytest.PytestAssertRewriteWarning"
)
"""Workers import the measuring code before pytest could; a suite may turn warnings into errors."""

OWN_TO_THE_SESSION = frozenset(
    {
        "capture", "collectonly", "durations", "durations_min", "file_or_dir", "failedfirst",
        "help", "importmode", "inifilename", "junitprefix", "keyword", "lf", "log_file",
        "markexpr", "maxfail", "newfirst", "numprocesses", "override_ini", "plugins", "pyargs",
        "quiet", "rootdir", "setuponly", "setupplan", "setupshow", "stepwise", "stepwise_skip",
        "tbstyle", "trace", "tx", "usepdb", "usepdb_cls", "verbose", "version", "xmlpath",
        "basetemp", "dist", "cov_source", "cov_report", "no_cov",
    }
)  # fmt: skip
"""Options that steer the outer session; every other plain value is handed to the workers."""


PLUGIN = "pytest_rlperf.plugin"


def session_arguments(config: pytest.Config, *, elsewhere: bool = False) -> Iterator[str]:
    """Yield the workers' command line. What the ini file adds is cleared: its effect on options is
    handed over, while `-n` or `--cov` in it would break or slow the workers. What a test prints
    goes to the worker's output file: captured by pytest it would be lost with a crash. Where one
    side runs `elsewhere`, this plugin may not be installed there, or in another version: it is
    named by its module, and what the environment has of it is not loaded.
    """
    yield from ("-p", PLUGIN, "-p", "no:rlperf") if elsewhere else ("-p", _own_name(config))
    # The last imports hypothesis when the session ends: 0.2 s.
    for plugin in ("cacheprovider", "xdist", "rerunfailures", "hypothesispytest"):
        yield from ("-p", f"no:{plugin}")
    yield from ("-o", "addopts=", "-q", "-s", "-o", "console_output_style=classic")
    yield f"--import-mode={config.getoption('importmode')}"
    for name in config.getoption("plugins", default=None) or ():
        if not name.startswith("no:cacheprovider"):
            yield from ("-p", name)
    for setting in config.getoption("override_ini", default=None) or ():
        if not setting.startswith("addopts"):
            yield from ("-o", setting)
    for warning in (*(config.getoption("pythonwarnings", default=None) or ()), OWN_WARNING):
        yield from ("-W", warning)


def _own_name(config: pytest.Config) -> str:
    """Return the name this plugin was loaded by: its entry point's, or its module's by `-p`."""
    named = config.pluginmanager.list_name_plugin()
    return next((name for name, p in named if getattr(p, "__name__", "") == PLUGIN), PLUGIN)


def relative_inipath(config: pytest.Config) -> str | None:
    """Return the path of the ini file from the root; None: there is none in it."""
    if config.inipath is None or not config.inipath.is_relative_to(config.rootpath):
        return None
    return str(config.inipath.relative_to(config.rootpath))


def plain_options(config: pytest.Config) -> dict[str, object]:
    """Return values that conftests and plugins may ask for, such as a `--device` of one's own."""
    return {
        name: value
        for name, value in vars(config.option).items()
        if name not in OWN_TO_THE_SESSION and not name.startswith("rlperf") and _is_plain(value)
    }


def _is_plain(value: object) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


NO_RANKS = "MPI tests are not compared between environments, whose MPIs may differ"
SELECTING = frozenset({"deselect", "ignore", "ignore_glob"})
"""Options that tell which tests run, and nothing of how."""
STEERING = (
    "PYTHON", "PYTEST_", "LD_", "DYLD_", "MALLOC_", "GLIBC_", "LC_", "LANG", "TZ",
    "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "VECLIB_", "NPY_", "NUMBA_", "NUMEXPR_",
    "CUDA_", "TORCH", "PYTORCH_", "JAX_", "XLA_", "TF_", "OMPI_", "MPICH_", "I_MPI_", "UCX_",
)  # fmt: skip
"""How variables begin that Python, its libraries and those below them look at."""
TEXT = re.compile(rb"""["'](\w+)["']""")


def surroundings(config: pytest.Config) -> str:
    """Return a digest of what tests run under besides their code, the machine and what is
    installed: pytest's options, and those variables of the environment that libraries look at or
    that a Python file of the project names.
    """
    files = _python_files(config.rootpath)
    named = {os.fsdecode(name) for file in files for name in TEXT.findall(file)}
    variables = {n: v for n, v in os.environ.items() if n.startswith(STEERING) or n in named}
    options = {n: v for n, v in plain_options(config).items() if n not in SELECTING}
    steering = [options, [*session_arguments(config)], relative_inipath(config), variables]
    return digest(json.dumps(steering, sort_keys=True))


def _python_files(root: Path) -> Iterator[bytes]:
    with suppress(RlperfError):  # without a repository there is nothing to compare either
        top, _ = top_level(root)
        for path in listed(top, "--", "*.py"):
            with suppress(OSError):
                yield (top / path).read_bytes()


def session_launcher(config: pytest.Config) -> Launcher | str:
    """Return the launcher that this session starts ranks with, or why there is none."""
    wishes = read_mpi_wishes(config)
    return pick_launcher(find_library(), wishes, executable=sys.executable, env=os.environ)


def session_mpi_facts(config: pytest.Config, cores: int) -> Fingerprint:
    """Return what a fingerprint has of MPI; empty where there is none."""
    library, launcher = find_library(), session_launcher(config)
    if isinstance(library, Library) and isinstance(launcher, Launcher):
        return {"mpi": mpi_facts(library, launcher, cores)}
    return {}


class SavedRevision(NamedTuple):
    """The commit at which these tests were saved, in the environment of this run."""

    revision: Revision
    tests: Set[str]
    created: str  # when


class Elsewhere(NamedTuple):
    """Another environment, as it described itself."""

    python: OtherPython
    description: Description


class Revisions(NamedTuple):
    """The revisions that are compared; None: the working tree, or no base at all."""

    head: Revision | None = None
    base: Revision | None = None
    saved: SavedRevision | None = None  # whose code tells which tests need no measuring
    elsewhere: Elsewhere | None = None  # the environment of the base; None: that of head


@contextmanager
def staged(
    session: pytest.Session,
    settings: Settings,
    revisions: Revisions,
    cores: tuple[int, ...],
    partner: Partner,
) -> Iterator[tuple[Stage, tuple[str, ...]]]:
    """Set up the stage of a run, with remarks on what could not be laid out; clean it up after."""
    config = session.config
    cache = cache_folder(os.environ)
    with ExitStack() as stack:
        saved = revisions.saved.revision if revisions.saved else None
        head, base = (
            None if revision is None else stack.enter_context(_tree(session, settings, revision))
            for revision in (revisions.head, revisions.base)
        )
        then = stack.enter_context(_as_it_was(config.rootpath, saved)) if saved else None
        folder = stack.enter_context(temporary_folder("run"))
        compared = base or then
        home = config.rootpath if compared is None else compared.head.top
        seed_bytecode(cache, list(sys.modules.values()), besides=home)
        environment = _environment(revisions.elsewhere, folder, home)
        same_code = None
        if environment is None:  # else the same code may do something else
            same_code = _same_code(config.rootpath, settings, revisions, head, compared)
        sides = _sides(config, home, head, base, isinstance(partner, Kernels), environment)
        physical = physical_cores(cores)
        stage = Stage(
            # Where both are the same, one run of each test tells whether it fails.
            sides=sides[:1] if base and same_code and same_code.changes.none else sides,
            home=home,
            import_roots=import_roots(home, sys.path, sys.modules, sys.meta_path),
            sys_path=tuple(sys.path),
            pytest_args=tuple(session_arguments(config, elsewhere=environment is not None)),
            inipath=relative_inipath(config),
            options=plain_options(config),
            caches=cache,
            folder=folder,
            cores=one_of_each_first(physical),
            seed=random.SystemRandom().randrange(2**32),
            token=secrets.token_hex(8),
            launcher=_launcher(session, environment),
            disturbed=isinstance(partner, Kernels) and partner.saving,
            same_code=same_code,
            # Kernels would feel a neighbour that the stored ratio has not met.
            lanes=1 if base is None and environment is None else _lanes(physical),
        )
        yield stage, () if base is None else base.notices


def _lanes(physical: Sequence[Sequence[int]]) -> int:
    return max(1, min(LANES_MAX, len(physical)))


def _environment(elsewhere: Elsewhere | None, folder: Path, home: Path) -> Environment | None:
    """Return the environment of the base's workers; None: it is that of head."""
    if elsewhere is None:
        return None
    link = link_measuring_code(folder)
    executable = elsewhere.python.executable
    return environment_of(executable, elsewhere.description, link, home, sys.path)


def _launcher(session: pytest.Session, environment: Environment | None) -> Launcher | str | None:
    """Return what starts ranks, or why nothing does; None: no test asks."""
    if not any(map(nprocs_of, session.items)):
        return None
    return session_launcher(session.config) if environment is None else NO_RANKS


def _same_code(
    root: Path,
    settings: Settings,
    revisions: Revisions,
    head: BaseTree | None,
    other: BaseTree | None,
) -> SameCode | None:
    """Compare head's code with that of the base, or of the commit that its baselines were saved at;
    None: there is one side only, or it is not wanted.
    """
    saved = revisions.saved
    revision = revisions.base or (saved.revision if saved else None)
    if other is None or revision is None or not settings.skip_same_code:
        return None
    two = TwoTrees(other.head.top if head is None else head.path, other.path)
    head_sha = None if revisions.head is None else revisions.head.sha
    files = files_to_compare(root, revision.sha, head_sha, besides=settings.baselines)
    python = [path for path in files if path.endswith(".py")]
    share_kernels(cache_folder(os.environ), two.head, two.base, python)
    same_code = SameCode(two, code_changes(two, files, KEEP))
    if revisions.base is not None or saved is None:
        return same_code
    newer = [path for path in other.generated if _changed(two.head / path) > saved.created]
    if newer:
        why = f"{newer[0]}, which git ignores, was written since the baseline was saved"
    elif same_code.base_has_more:
        why = "a module is gone, and nobody runs the code that had it"
    else:
        return replace(same_code, tests=saved.tests)
    return replace(same_code, changes=CodeChanges(everywhere=why), tests=saved.tests)


def _changed(file: Path) -> str:
    """Return when a file last changed, as a result says when it was made."""
    changed = datetime.datetime.fromtimestamp(file.stat().st_ctime, datetime.UTC)
    return changed.isoformat(timespec="seconds")


def _tree(session: pytest.Session, settings: Settings, revision: Revision) -> BaseTree:
    config = session.config
    modules = {item.path for item in session.items}
    files = overlay_files(config.rootpath, modules, config.inipath)
    return lay_out(config.rootpath, revision, files, settings.build, cache_folder(os.environ))


def _as_it_was(root: Path, revision: Revision) -> BaseTree:
    """Lay out a revision with its own benchmark files: it was measured with these."""
    return lay_out(root, revision, (), None, cache_folder(os.environ))


def _sides(
    config: pytest.Config,
    top: Path,
    head: BaseTree | None,
    base: BaseTree | None,
    reference: bool,
    environment: Environment | None,
) -> tuple[Side, ...]:
    cwd = config.invocation_params.dir
    here = Side(HEAD, config.rootpath, cwd, top) if head is None else _side(HEAD, head, cwd)
    if base is not None:
        return here, replace(_side(BASE, base, cwd), environment=environment)
    if environment is not None:
        return here, replace(here, side=BASE, environment=environment)
    return (here, replace(here, side=BASE, reference=True)) if reference else (here,)


def _side(side: int, tree: BaseTree, cwd: Path) -> Side:
    own_cwd = tree.counterpart(cwd)
    own_cwd.mkdir(parents=True, exist_ok=True)  # a folder that is new in the working tree
    return Side(side, tree.root, own_cwd, tree.path)
