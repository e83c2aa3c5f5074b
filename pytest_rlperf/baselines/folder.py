"""Where stored baselines lie: their folder, the data branch that CI keeps them on, and the cache
folder with saves that were refused.

baselines/<machine key>/<name>/<test module>.json
"""

import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

from pytest_rlperf.baselines.file import Stored, read_module, write_module
from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import private_folder, wait_for_lock, write_atomically
from pytest_rlperf.machine.fingerprint import machine_key
from pytest_rlperf.model.result import Facts
from pytest_rlperf.reading import Name, PathText, read_json, refusing, typed
from pytest_rlperf.trees.cache import digest
from pytest_rlperf.trees.data_branch import DataBranch, Files

# -- the folder: whose file is compared with, and which are written ------------------------------

CPU_MODEL = ("cpu", "vendor", "family", "model")


@dataclass(frozen=True, slots=True)
class Baselines:
    """The stored baselines of one name, on all machines."""

    folder: Path
    name: str
    facts: Facts  # of this machine

    @property
    def own_folder(self) -> Path:
        return self.folder / machine_key(self.facts) / self.name

    @property
    def has_own(self) -> bool:
        """Whether something is stored that was saved on this machine."""
        return any(self.own_folder.rglob("*.json"))

    def load(self) -> dict[str, Stored]:
        """Return the baselines by node id; of several machines the most similar one's.

        This machine comes first, then those of its CPU model, then the newest. Another
        architecture is never compared with, and other machines are shown rather than judged.
        """
        stored: dict[str, Stored] = {}
        for tests in self._by_likeness():
            stored = {**tests, **stored}
        return stored

    def _by_likeness(self) -> list[dict[str, Stored]]:
        own = self.own_folder
        machines = sorted(self.folder.glob(f"*/{self.name}"))
        loaded = [(folder == own, self._read(folder)) for folder in machines]
        ranked = [(self._rank(here, tests), tests) for here, tests in loaded if tests]
        return [tests for _, tests in sorted(ranked, key=lambda pair: pair[0], reverse=True)]

    def _rank(self, here: bool, tests: Mapping[str, Stored]) -> tuple[bool, bool, str]:
        newest = max((test.newest for test in tests.values()), key=lambda s: s.created)
        alike = all(newest.facts.get(name) == self.facts.get(name) for name in CPU_MODEL)
        return here, alike, newest.created

    def _read(self, folder: Path) -> dict[str, Stored]:
        stored: dict[str, Stored] = {}
        for path in sorted(folder.rglob("*.json")):
            stored |= read_module(path)
        architecture = self.facts["architecture"]
        return {
            nodeid: test
            for nodeid, test in stored.items()
            if test.newest.facts.get("architecture") == architecture
        }


def save_into(folder: Path, tests: Sequence[Stored], gone: Collection[str] = ()) -> None:
    """Write `tests` into a machine's folder and drop those that are `gone`; others stay."""
    with _locked(folder):
        modules = sorted({_module(nodeid) for nodeid in (*gone, *(t.nodeid for t in tests))})
        contents = [(module, _merged(folder, module, tests, gone)) for module in modules]
        for module, content in contents:
            path = folder / file_name(module)
            if content:
                write_module(path, module, content)
            else:
                path.unlink(missing_ok=True)


def _merged(
    folder: Path, module: str, tests: Iterable[Stored], gone: Collection[str]
) -> list[Stored]:
    path = folder / file_name(module)
    old = read_module(path) if path.exists() else {}
    new = {test.nodeid: test for test in tests if _module(test.nodeid) == module}
    merged = {**old, **new}
    return [merged[nodeid] for nodeid in sorted(merged) if nodeid not in gone]


def names_in(folder: Path) -> list[str]:
    """Return the names under which something is stored, on whichever machine."""
    return sorted({place.name for place in folder.glob("*/*") if any(place.rglob("*.json"))})


def file_name(module: str) -> Path:
    """Return where its baselines lie in the folder: in it, wherever the module lies itself."""
    parts = [part for part in Path(module).parts if part != Path(module).anchor]
    names = ["__" if part == ".." else part for part in parts]
    return Path(*(names or "_")).with_suffix(".json")


def _module(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def check_writable(folder: Path) -> None:
    """Refuse now what could not be written after minutes of measuring."""
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    if not existing.is_dir():
        raise _unwritable(folder, f"{existing} is a file")
    if not os.access(existing, os.W_OK):
        raise _unwritable(folder, f"{existing} is read-only")


def _unwritable(folder: Path, why: str | None) -> UsageError:
    return UsageError(
        f"the baselines cannot be written to {folder} ({why}); make it writable, or name another "
        "folder with --rlperf-baselines."
    )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder for one writer at a time: two would each drop what the other added."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
        try:
            if not wait_for_lock(handle):
                raise UsageError(
                    f"another process is writing the baselines in {folder}; wait for it, and save "
                    "again."
                )
            yield
        finally:
            os.close(handle)
    except OSError as error:
        raise _unwritable(folder, error.strerror) from error


# -- saves that were refused because of a regression, kept until they are accepted with a reason -
#
# They lie in the cache folder, not among the baselines: a refused save changes nothing there.

WHERE = "where.json"
TESTS = "tests.json"
ANEW = "save again with --rlperf-save"


class WhereRow(TypedDict):
    root: PathText
    folder: PathText
    name: Name


@dataclass(frozen=True, slots=True)
class Pending:
    """A refused save."""

    root: Path  # of the project
    folder: Path  # of this machine's baselines of that name
    name: str
    tests: tuple[Stored, ...]

    def with_reason(self, reason: str) -> list[Stored]:
        """Return the tests with `reason` for each regression that has none yet."""
        return [
            replace(
                test,
                accepted=tuple(a if a.reason else replace(a, reason=reason) for a in test.accepted),
            )
            for test in self.tests
        ]


def keep_pending(cache: Path, root: Path, folder: Path, name: str, tests: Sequence[Stored]) -> None:
    """Keep a refused save of the project at `root` in the cache."""
    place = _place(cache, folder)
    private_folder(place)
    write_module(place / TESTS, name, tests)
    where = {"root": str(root), "folder": str(folder), "name": name}
    write_atomically(place / WHERE, json.dumps(where))


def find_pending(cache: Path, here: Path) -> list[Pending]:
    """Return the refused saves of the project that `here` lies in."""
    saves = []
    for path in sorted(cache.glob(f"pending/*/{WHERE}")):
        with refusing(path, ANEW):
            where = typed(WhereRow, read_json(path, ANEW))
        if here.is_relative_to(where["root"]):
            tests = tuple(read_module(path.with_name(TESTS)).values())
            saves.append(Pending(Path(where["root"]), Path(where["folder"]), where["name"], tests))
    return saves


def drop_pending(cache: Path, folder: Path) -> None:
    shutil.rmtree(_place(cache, folder), ignore_errors=True)


def _place(cache: Path, folder: Path) -> Path:
    return cache / "pending" / digest(str(folder))


# -- the data branch -----------------------------------------------------------------------------

FOLDER = "baselines"
REMOTE = "origin"
MESSAGE = "Renew the baselines"


@dataclass(frozen=True, slots=True)
class BaselineBranch:
    """Stored baselines on the data branch, beside the history: CI renews them, main stays clean."""

    repository: Path
    name: str

    def lay_out(self, folder: Path) -> int:
        """Write what this clone has fetched into `folder`; return how many files that were."""
        branch = self._branch()
        known = (branch.tracked(REMOTE), branch.ref)
        revision = next(filter(branch.has, known), None)
        files = {} if revision is None else branch.read(revision)
        for path, content in files.items():
            if ".." in Path(path).parts:
                raise UsageError(
                    f"the branch {self.name} names {path!r}, outside of its folder; take it out."
                )
            place = folder / Path(path).relative_to(FOLDER)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        return len(files)

    def keep(self, folder: Path, remote: str) -> int:
        """Commit what differs in `folder`, and send it; return how many files that were."""
        branch = self._branch()
        branch.check_writable()
        files = {
            f"{FOLDER}/{path.relative_to(folder).as_posix()}": path.read_bytes()
            for path in sorted(folder.rglob("*.json"))
        }
        written: Files = {}

        def renewed(old: Files) -> Files:
            nonlocal written
            written = {path: text for path, text in files.items() if old.get(path) != text}
            return written

        branch.update(renewed, MESSAGE)
        if written:
            # Whoever saved last wins, as in a folder.
            branch.push(remote, lambda theirs, ours: {**theirs, **ours}, MESSAGE)
        return len(written)

    def _branch(self) -> DataBranch:
        return DataBranch.checked(self.repository, self.name, FOLDER)
