"""`--rlperf-reached`: only the tests that the change can reach."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_rlperf.judge.reach import CONFTEST, is_reached
from pytest_rlperf.launch.git import top_level
from pytest_rlperf.launch.reach.changes import changed_files
from pytest_rlperf.launch.reach.imports import Imports, ImportsUnknown


@dataclass(frozen=True, slots=True)
class Reached:
    """The tests to run, and what is to be said of the others."""

    nodeids: frozenset[str]
    notice: str | None


def reached_tests(items: Sequence[pytest.Item], root: Path, base: str, head: str | None) -> Reached:
    """By what changed from the commit `base` to `head`, or to the working tree. Where it cannot be
    told, all are reached.
    """
    every = frozenset(item.nodeid for item in items)
    changed = changed_files(root, base, head)
    files = {item.nodeid: Path(os.path.realpath(item.path)) for item in items}
    try:
        fitting = _reached(set(files.values()), changed, root)
    except ImportsUnknown as error:
        told = "all performance tests run, since it is not known which the change reaches"
        return Reached(every, f"{told}: {error}.")
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
    tests = "1 test" if len(files) == 1 else f"{len(files)} tests"
    return f"left out {tests} that the change does not reach, in {', '.join(names)}."
