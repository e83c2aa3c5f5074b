"""A save that was refused because of a regression, kept until it is accepted with a reason.

It lies in the cache folder, not among the baselines: a refused save changes nothing there.
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_rlperf.launch.cache import digest
from pytest_rlperf.model.baseline import Stored
from pytest_rlperf.store.atomic import write_atomically
from pytest_rlperf.store.baseline_file import read_module, write_module
from pytest_rlperf.store.json_file import Shape, check_shape, misfits, read_json

WHERE = "where.json"
TESTS = "tests.json"
SHAPE: Shape = {"root": (str,), "folder": (str,), "name": (str,)}
ANEW = "save again with --rlperf-save"


@dataclass(frozen=True, slots=True)
class Pending:
    """A refused save."""

    root: Path  # of the project
    folder: Path  # of this machine's baselines of that name
    name: str
    tests: tuple[Stored, ...]

    def with_reason(self, reason: str) -> list[Stored]:
        return [_with_reason(test, reason) for test in self.tests]


def _with_reason(test: Stored, reason: str) -> Stored:
    given = tuple(a if a.reason else replace(a, reason=reason) for a in test.accepted)
    return replace(test, accepted=given)


def keep(cache: Path, root: Path, folder: Path, name: str, tests: Sequence[Stored]) -> None:
    place = _place(cache, folder)
    place.mkdir(parents=True, exist_ok=True)
    write_module(place / TESTS, name, tests)
    where = {"root": str(root), "folder": str(folder), "name": name}
    write_atomically(place / WHERE, json.dumps(where))


def find(cache: Path, here: Path) -> list[Pending]:
    """The refused saves of the project that `here` lies in."""
    found = []
    for where in sorted(cache.glob(f"pending/*/{WHERE}")):
        told = read_json(where, ANEW)
        check_shape(where, misfits(told, SHAPE, "its top"), ANEW)
        if here.is_relative_to(told["root"]):
            tests = tuple(read_module(where.with_name(TESTS)).values())
            found.append(Pending(Path(told["root"]), Path(told["folder"]), told["name"], tests))
    return found


def drop(cache: Path, folder: Path) -> None:
    shutil.rmtree(_place(cache, folder), ignore_errors=True)


def _place(cache: Path, folder: Path) -> Path:
    return cache / "pending" / digest(str(folder))
