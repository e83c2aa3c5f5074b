"""The folder of stored baselines: whose file is compared with, and which are written.

baselines/<machine key>/<name>/<test module>.json
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.baseline import Stored
from pytest_rlperf.store.baseline_file import read_module, write_module
from pytest_rlperf.store.machine_key import machine_key

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Baselines:
    """The stored baselines of one name, on all machines."""

    folder: Path
    name: str
    facts: Mapping[str, Any]  # of this machine

    @property
    def own_folder(self) -> Path:
        return self.folder / machine_key(self.facts) / self.name

    def load(self, modules: Iterable[str] | None = None) -> dict[str, Stored]:
        """By node id; of several machines the most similar one's. None: of all modules.

        This machine comes first, then those of its CPU model, then the newest. Another
        architecture is never compared with.
        """
        wanted = None if modules is None else {file_name(module) for module in modules}
        found: dict[str, Stored] = {}
        for tests in self._by_likeness(wanted):
            found = {**tests, **found}
        return found

    def _by_likeness(self, wanted: set[Path] | None) -> list[dict[str, Stored]]:
        own = self.own_folder
        machines = sorted(self.folder.glob(f"*/{self.name}"))
        loaded = [(folder == own, self._read(folder, wanted)) for folder in machines]
        ranked = [(self._rank(here, tests), tests) for here, tests in loaded if tests]
        return [tests for _, tests in sorted(ranked, key=lambda pair: pair[0], reverse=True)]

    def _rank(self, here: bool, tests: Mapping[str, Stored]) -> tuple[bool, bool, str]:
        newest = max((test.latest for test in tests.values()), key=lambda s: s.created)
        return here, newest.facts.get("cpu") == self.facts["cpu"], newest.created

    def _read(self, folder: Path, wanted: set[Path] | None) -> dict[str, Stored]:
        found: dict[str, Stored] = {}
        for path in sorted(folder.rglob("*.json")):
            if wanted is None or path.relative_to(folder) in wanted:
                found |= read_module(path)
        architecture = self.facts["architecture"]
        return {
            nodeid: test
            for nodeid, test in found.items()
            if test.latest.facts.get("architecture") == architecture
        }


def save_into(folder: Path, tests: Sequence[Stored]) -> None:
    """Write `tests` into a machine's folder, leaving what is stored of others as it is."""
    with _locked(folder):
        contents = [_merged(folder, module, tests) for module in _modules(tests)]
        for path, module, content in contents:
            write_module(path, module, content)


def _merged(folder: Path, module: str, tests: Sequence[Stored]) -> tuple[Path, str, list[Stored]]:
    path = folder / file_name(module)
    old = read_module(path) if path.exists() else {}
    new = {test.nodeid: test for test in tests if _module(test.nodeid) == module}
    merged = {**old, **new}
    return path, module, [merged[nodeid] for nodeid in sorted(merged)]


def names_in(folder: Path) -> list[str]:
    """The names under which something is stored, on whichever machine."""
    return sorted({place.name for place in folder.glob("*/*") if place.is_dir()})


def file_name(module: str) -> Path:
    return Path(module).with_suffix(".json")


def _module(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _modules(tests: Iterable[Stored]) -> list[str]:
    return sorted({_module(test.nodeid) for test in tests})


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
    """For one writer at a time: two would each drop what the other added."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise _unwritable(folder, error.strerror) from error
    try:
        if fcntl is not None:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    f"another process is writing the baselines in {folder}; wait for it, and save "
                    "again."
                ) from None
        yield
    finally:
        os.close(handle)
