"""Which tests are measured: performance tests, those in the scope of the command line, and with
`--rlperf-reached` only those that the change can reach; and how to name them again.
"""

import hashlib
import inspect
import os
import re
import shlex
import textwrap
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.fixtures import (
    LEARNING_FIXTURE,
    MEMORY_FIXTURE,
    MPI_FIXTURE,
    SIZE_FIXTURE,
    size_id,
)
from pytest_rlperf.markers import (
    LEARNING_MARKER,
    MARKER,
    MPI_MARKER,
    learning_of,
    ranks_of,
    uses_benchmark,
)
from pytest_rlperf.model.learning import LearningSpec
from pytest_rlperf.model.result import JobSize
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.report.text import render_tests
from pytest_rlperf.trees.git import top_level
from pytest_rlperf.trees.reach import CONFTEST, Imports, ImportsUnknown, changed_files, is_reached

FIXTURES = frozenset({"rlperf", MPI_FIXTURE, MEMORY_FIXTURE, LEARNING_FIXTURE})
MARKERS = (MARKER, MPI_MARKER, LEARNING_MARKER)
UNTIMED = frozenset({MEMORY_FIXTURE, LEARNING_FIXTURE})
NARROWING = (
    "keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "stepwise", "rlperf_category",
)  # fmt: skip
"""Options after which a test that is missing need not be gone."""
SHARING = frozenset({"--rlperf-shard", "--rlperf-shard-by"})
"""Options, each with a value, that give a run its part of the suite."""


def is_performance_test(item: pytest.Item) -> bool:
    """Return whether a test uses a fixture that measures, or is marked: it fails without one."""
    if _uses(item, FIXTURES):
        return True
    return any(map(item.get_closest_marker, MARKERS)) or uses_benchmark(item)


def is_timed(item: pytest.Item) -> bool:
    """Return whether a test is timed: one of memory or of learning alone is not."""
    return _uses(item, {"rlperf"}) or uses_benchmark(item) or not _uses(item, UNTIMED)


def measures_memory(item: pytest.Item, spec: Spec) -> bool:
    return spec.memory is not None or _uses(item, {MEMORY_FIXTURE})


def learning_spec(item: pytest.Item) -> LearningSpec | None:
    """Return how what the test learns is judged; None: nothing is."""
    if not _uses(item, {LEARNING_FIXTURE}):
        if item.get_closest_marker(LEARNING_MARKER):
            raise UsageError(
                f"{item.nodeid} has the marker {LEARNING_MARKER} and does not take the fixture of "
                "that name; add it to the arguments of the test."
            )
        return None
    if _uses(item, FIXTURES - {LEARNING_FIXTURE}) or uses_benchmark(item):
        raise UsageError(
            f"{item.nodeid} takes {LEARNING_FIXTURE} and another fixture that measures; split it "
            "in two tests."
        )
    return learning_of(item)


def _uses(item: pytest.Item, fixtures: Set[str]) -> bool:
    return not fixtures.isdisjoint(getattr(item, "fixturenames", ()))


def nprocs_of(item: pytest.Item) -> int:
    """Return the number of ranks that the test needs; 0: none."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get(MPI_FIXTURE, 0) if callspec else 0


def size_of(item: pytest.Item, cores: int) -> JobSize | None:
    """Return the size of the jobs of an MPI test; None: it is none."""
    nprocs = nprocs_of(item)
    if not nprocs:
        return None
    spec = ranks_of(item)
    crowded = nprocs > cores
    return JobSize(nprocs, spec.scaling, crowded, spec.gate_oversubscribed, spec.timeout)


def input_size_of(item: pytest.Item) -> float | None:
    """Return the size of the test's input, where its marker names several."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get(SIZE_FIXTURE) if callspec else None


def family_of(item: pytest.Item) -> str:
    """Return the test's name without its size: all sizes of a test share it."""
    size = input_size_of(item)
    return item.nodeid if size is None else without_size(item.nodeid, size_id(size))


def without_size(nodeid: str, size: str) -> str:
    name, _, case = nodeid.partition("[")
    others = re.sub(rf"(^|-){re.escape(size)}(?=-|$)", "", case.removesuffix("]")).lstrip("-")
    return f"{name}[{others}]" if others else name


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of the project's tests that was asked for."""

    whole: bool  # all that lie in these folders and files
    places: tuple[Path, ...]  # relative to the root

    def holds(self, nodeid: str) -> bool:
        module = Path(nodeid.partition("::")[0])
        return any(module.is_relative_to(place) for place in self.places)


def selected_scope(config: pytest.Config) -> Scope:
    root = config.rootpath
    narrowed = any(getattr(config.option, name, None) for name in NARROWING)
    narrowed = narrowed or bool(config.getini("rlperf_category"))
    named = [str(argument) for argument in config.args]
    paths = [Path(os.path.abspath(config.invocation_params.dir / name)) for name in named]
    inside = [path.relative_to(root) for path in paths if path.is_relative_to(root)]
    whole = not narrowed and not any("::" in name for name in named)
    return Scope(whole and len(inside) == len(paths), tuple(inside))


def source_hash(item: pytest.Item) -> str:
    """Hash the test function's own text but for its name; empty where there is none to read."""
    function = getattr(item, "function", None)
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(function))) if function else ""
    except (OSError, TypeError):
        text = ""
    text = re.sub(r"\bdef \w+", "def", text, count=1)  # what was renamed is recognised
    return hashlib.sha256(text.encode()).hexdigest()[:16] if text else ""


def repeat_command(item: pytest.Item, config: pytest.Config, python: str | None = None) -> str:
    """Return the command that measures just this test again, from the same folder, by an
    interpreter if it matters by which: alone it is the whole suite, so that no shard is named.
    """
    chosen = set(config.option.file_or_dir or ())
    words = [
        word
        for before, word in pairwise(("", *map(str, config.invocation_params.args)))
        if word not in chosen and before not in SHARING and word.partition("=")[0] not in SHARING
    ]
    module = os.path.relpath(item.path, config.invocation_params.dir)
    inside = item.nodeid.partition("::")[2]
    program = ["pytest"] if python is None else [python, "-m", "pytest"]
    return shlex.join([*program, *words, f"{module}::{inside}" if inside else module])


# -- tests that the change can reach (`--rlperf-reached`) ----------------------------------------


@dataclass(frozen=True, slots=True)
class Reached:
    """The tests to run, and what is to be said of the others."""

    nodeids: frozenset[str]
    notice: str | None


def reached_tests(items: Sequence[pytest.Item], root: Path, base: str, head: str | None) -> Reached:
    """Return the tests that what changed from the commit `base` to `head`, or to the working tree,
    can reach. Where that cannot be told, all are reached.
    """
    every = frozenset(item.nodeid for item in items)
    changed = changed_files(root, base, head)
    files = {item.nodeid: Path(os.path.realpath(item.path)) for item in items}
    try:
        fitting = _reached(set(files.values()), changed, root)
    except ImportsUnknown as error:
        notice = "all performance tests run, since it is not known which the change reaches"
        return Reached(every, f"{notice}: {error}.")
    kept = frozenset(nodeid for nodeid, file in files.items() if file in fitting)
    return Reached(kept, _left_out({n: f for n, f in files.items() if n not in kept}, root))


def _reached(tests: Iterable[Path], changed: frozenset[Path], root: Path) -> set[Path]:
    top = Path(os.path.realpath(top_level(root)[0]))
    own = {test: {test, *_conftests(test, top)} for test in tests}
    imports = Imports.around(set().union(*own.values()), top)
    return {
        test
        for test, begin in own.items()
        if is_reached(test, imports.reached(begin), changed, top)
    }


def _conftests(test: Path, top: Path) -> Iterable[Path]:
    folders = (folder for folder in test.parents if folder.is_relative_to(top))
    return (folder / CONFTEST for folder in folders if (folder / CONFTEST).is_file())


def _left_out(files: Mapping[str, Path], root: Path) -> str | None:
    if not files:
        return None
    names = sorted({os.path.relpath(file, os.path.realpath(root)) for file in files.values()})
    tests = render_tests(len(files))
    return f"left out {tests} that the change does not reach, in {', '.join(names)}."
