"""Throw-away git repositories with a base, a head, and a known difference in speed."""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from tests.trees.environments import MEASURING_CODE, Environment, new_environment

LIBRARY = Path(__file__).with_name("proofwork")
UNITS = 100
PERF_FILE = "tests/perf/test_proof.py"
BENCHMARK_FILE = "tests/bench/test_bench.py"
LONG_FOLDER = "a-much-longer-path-than-the-other-side-has"

# A larger environment on one side is missing: the gate starts both sides from one environment,
# and what a process sets for itself no longer moves its stack. It cannot be had from outside.
VARIANTS = ("plain", "unused", "path", "bytecode")


@dataclass(frozen=True)
class Workload:
    """The tests of one suite; ``scale`` lengthens each unit, ``paired`` adds a second process,
    ``ranks`` makes each call that of an MPI job; ``installed`` puts the library into an environment
    for each side, out of the tree."""

    works: tuple[str, ...]
    scale: int = 1
    paired: bool = False
    ranks: int = 0
    installed: bool = False

    @property
    def tests(self) -> tuple[str, ...]:
        size = f"[nprocs={self.ranks}]" if self.ranks else ""
        return tuple(f"test_{work}{size}" for work in self.works)


ONE_OF_EACH_KIND = ("interpreter_sum", "blas_96", "memory_gather_32")

WORKLOADS = {
    "suite": Workload(
        (
            "interpreter_sum",
            "interpreter_dict",
            "interpreter_calls",
            "interpreter_text",
            "blas_64",
            "blas_96",
            "blas_128",
            "memory_gather_32",
            "memory_gather_8",
            "memory_stride_32",
        )
    ),
    "long": Workload(ONE_OF_EACH_KIND, scale=50),
    "processes": Workload(ONE_OF_EACH_KIND, paired=True),
    "mpi": Workload(ONE_OF_EACH_KIND, ranks=2),
    "installed": Workload(
        ("interpreter_sum", "interpreter_text", "blas_96", "memory_gather_32"), installed=True
    ),
}


@dataclass(frozen=True)
class Change:
    """A growth of the total time by ``total``, all of it in every ``every``-th call."""

    total: float = 0.0
    every: int = 1

    @property
    def extra_units(self) -> int:
        exact = self.total * UNITS * self.every
        if abs(exact - round(exact)) > 1e-9:
            raise ValueError(f"{self} is no whole number of units; choose a multiple of 1 %")
        return round(exact)


@dataclass(frozen=True)
class Project:
    """A generated repository: head is checked out, ``base`` is the revision to compare with. Where
    the library is installed, ``environments`` are those of head and base, and the tree is one.
    """

    root: Path
    base: str
    head: str
    workload: Workload
    environments: tuple[Environment, Environment] | None = None


def kind_of(nodeid: str) -> str:
    """``interpreter``, ``blas`` or ``memory``: the word after ``test_``."""
    return nodeid.rpartition("::")[2].split("_")[1]


def render_config(scale: int, change: Change) -> str:
    values = {
        "UNITS": UNITS,
        "EXTRA": change.extra_units,
        "EVERY": change.every,
        "SCALE": scale,
    }
    return "".join(f"{name} = {value}\n" for name, value in values.items())


def render_tests(workload: Workload, fixture: str) -> str:
    """A test file in which each work is called through ``fixture``."""
    if workload.ranks:
        return RANKED_HEAD + "".join(map(_render_ranked_test, workload.works))
    head = "from proofwork import make\n"
    return head + "".join(_render_test(work, workload.paired, fixture) for work in workload.works)


def _render_test(work: str, paired: bool, fixture: str) -> str:
    if not paired:
        return f'\n\ndef test_{work}({fixture}):\n    {fixture}(make("{work}"))\n'
    return f'\n\ndef test_{work}({fixture}, make_pair):\n    {fixture}(make_pair("{work}"))\n'


RANKED_HEAD = """\
from proofwork import make


def call(work, comm):
    return comm.allreduce(work())
"""


def _render_ranked_test(work: str) -> str:
    return (
        f'\n\ndef test_{work}(rlperf_mpi):\n    rlperf_mpi(call, make("{work}"), rlperf_mpi.comm)\n'
    )


CONFTEST = """\
import pytest

from proofwork import Pair


@pytest.fixture
def make_pair():
    pairs = []

    def start(name):
        pairs.append(Pair(name))
        return pairs[-1]

    yield start
    for pair in pairs:
        pair.close()
"""

PYPROJECT = """\
[project]
name = "proofwork"
version = "1.0"

[tool.pytest.ini_options]
pythonpath = ["."]
"""


def render_unused(count: int) -> str:
    """Functions that nobody calls: they move everything that is loaded after them."""
    functions = (
        f'def unused_{number}(value):\n    """Never called."""\n    return [value] * {number}\n'
        for number in range(count)
    )
    return "\n\n".join(functions)


def build(folder: Path, workload: Workload, change: Change, variant: str, seed: int) -> Project:
    """Lay out base and head in a new repository below ``folder``."""
    if variant not in VARIANTS:
        raise ValueError(f"unknown variant {variant!r}; choose one of {', '.join(VARIANTS)}")
    root = _root(folder, variant)
    _write_tree(root, workload)
    git(root, "init", "--quiet")
    base = commit(root, "base")
    if workload.installed:
        sides = _install(folder, root, "head", change), _install(folder, root, "base", Change())
        shutil.rmtree(root / "proofwork")
        return Project(root, base, commit(root, "without the library"), workload, sides)
    config = root / "proofwork" / "config.py"
    config.write_text(render_config(workload.scale, change), encoding="utf-8")
    if variant == "unused":
        _add_unused(root / "proofwork", count=1 + seed % 40)
    head = commit(root, "head")
    if variant == "bytecode":
        compileall.compile_dir(root / "proofwork", quiet=1)
    return Project(root, base, head, workload)


def _install(folder: Path, root: Path, side: str, change: Change) -> Environment:
    """Make the environment of a side: what is installed here, and the library."""
    made = new_environment(folder / side)
    made.add_pth(f"{sysconfig.get_path('purelib')}\n{MEASURING_CODE}")
    library = made.site_packages / "proofwork"
    shutil.copytree(root / "proofwork", library)
    config = render_config(1, change)
    (library / "config.py").write_text(config, encoding="utf-8")
    return made


def check_out(project: Project, revision: str) -> None:
    git(project.root, "checkout", "--quiet", revision)


def _root(folder: Path, variant: str) -> Path:
    if variant == "path":
        return folder / LONG_FOLDER / LONG_FOLDER / LONG_FOLDER / "project"
    return folder / "project"


def _write_tree(root: Path, workload: Workload) -> None:
    shutil.copytree(LIBRARY, root / "proofwork", ignore=shutil.ignore_patterns("__pycache__"))
    files = {
        "proofwork/config.py": render_config(workload.scale, Change()),
        "pyproject.toml": PYPROJECT,
        ".gitignore": "__pycache__/\n.pytest_cache/\n",
        "tests/conftest.py": CONFTEST,
        PERF_FILE: render_tests(workload, "rlperf"),
        BENCHMARK_FILE: render_tests(workload, "benchmark"),
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _add_unused(library: Path, count: int) -> None:
    text = render_unused(count)
    (library / "unused.py").write_text(text, encoding="utf-8")
    init = library / "__init__.py"
    init.write_text(init.read_text(encoding="utf-8") + "\nfrom . import unused\n", encoding="utf-8")
    work = library / "work.py"
    marker = "\nclass Work:"
    source = work.read_text(encoding="utf-8")
    work.write_text(source.replace(marker, f"\n{text}\n{marker}", 1), encoding="utf-8")


def commit(root: Path, message: str) -> str:
    git(root, "add", "--all")
    # An A/A head differs in nothing, and is still a revision of its own.
    git(root, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(root, "rev-parse", "HEAD").strip()


def git(root: Path, *arguments: str) -> str:
    """Run git apart from the user's own configuration: hooks and signing have no place here."""
    root.mkdir(parents=True, exist_ok=True)
    identity = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (("NAME", "proof"), ("EMAIL", "proof@example.invalid"))
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    nowhere = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        ["git", *arguments],
        cwd=root,
        env={**kept, **nowhere, **identity},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
