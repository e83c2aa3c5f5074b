"""The cache folder: slots for base trees that one run at a time may use, bytecode and kernels that
workers compiled, and how much of it is kept.
"""

import filecmp
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import ModuleType

from pytest_rlperf.errors import RevisionError
from pytest_rlperf.files import (
    LOCKS,
    NOT_BY_LINK,
    private_folder,
    read_plain,
    try_lock,
    write_atomically,
)
from pytest_rlperf.model.quantity import parse_bytes

KEPT_TREES = 5
"""For each repository: enough for the branches somebody works on in a week."""

OWN = "[0-9a-f]" * 10
"""How folders of trees are called, by `digest`: others may lie beside them, and are somebody's."""
OWNER = "repository"
MOST_PATH = 1 << 16
LOCK = ".lock"


def cache_folder(environ: Mapping[str, str]) -> Path:
    """`$RLPERF_CACHE`, else `$XDG_CACHE_HOME/pytest-rlperf`, else `~/.cache/pytest-rlperf`."""
    if chosen := environ.get("RLPERF_CACHE"):
        return Path(chosen).expanduser().absolute()
    shared = environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(shared):  # the specification says to ignore a relative one
        return Path(shared) / "pytest-rlperf"
    try:
        return Path.home() / ".cache" / "pytest-rlperf"
    except RuntimeError as error:
        raise RevisionError(
            "There is no home folder to keep the base tree in; set RLPERF_CACHE to a folder."
        ) from error


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:10]


class Slot:
    """A place for one tree, held by this process until it is released."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock: int | None = lock

    def beside(self, ending: str) -> Path:
        """Name a file that belongs to the tree but must not lie in it."""
        return self.path.with_name(self.path.name + ending)

    def release(self) -> None:
        """Let others have the slot; to release it twice does no harm."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def claim(cache: Path, repository: Path, key: str, length: int = 0) -> Slot:
    """Take the first free slot for `key`: where another run holds one, the next.

    The path is padded to `length` where it is shorter: paths of equal length on both sides make
    for equal memory layouts.
    """
    folder = cache / digest(str(repository))
    try:
        private_folder(folder)
        write_atomically(folder / OWNER, os.fsencode(repository))
        paths = (_padded(folder / f"{key}.{number}", length) for number in count())
        locks = ((path, _try_lock(path.with_name(path.name + LOCK))) for path in paths)
        return next(Slot(path, lock) for path, lock in locks if lock is not None)
    except OSError as error:
        raise RevisionError(
            f"The cache folder {folder} cannot be used ({error.strerror}); set RLPERF_CACHE to a "
            "folder on a local disk that you may write to."
        ) from error


def prune_trees(cache: Path, keep: int = KEPT_TREES) -> None:
    """Drop the trees longest unused, and those of vanished repositories; never one in use."""
    for owner in cache.glob(f"{OWN}/{OWNER}"):
        folder = owner.parent
        locks = sorted(folder.glob(f"*{LOCK}"), key=_last_use, reverse=True)
        repository = read_plain(owner, MOST_PATH)
        vanished = repository is not None and not _is_there(repository)
        for lock in locks[0 if vanished else keep :]:
            _drop(lock)
        if vanished and not list(folder.glob(f"*{LOCK}")):
            shutil.rmtree(folder, ignore_errors=True)


def _is_there(repository: bytes) -> bool:
    try:
        return os.path.exists(os.fsdecode(repository))
    except ValueError:
        return False


def _last_use(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:  # another run pruned it
        return 0.0


def _drop(lock: Path) -> None:
    """Drop the tree of a slot, unless a run holds it."""
    handle = _try_lock(lock, touch=False)
    if handle is None:
        return
    try:
        slot = lock.name.removesuffix(LOCK)
        shutil.rmtree(lock.with_name(slot), ignore_errors=True)
        for beside in lock.parent.glob(f"{slot}.*"):
            beside.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _padded(path: Path, length: int) -> Path:
    longest_name = 120  # well below what file systems allow, files beside the tree included
    missing = min(length - len(str(path)), longest_name - len(path.name))
    return path.with_name(path.name + "_" * max(0, missing))


def _try_lock(path: Path, *, touch: bool = True) -> int | None:
    """Return a descriptor that holds the lock, or None where another process does."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | NOT_BY_LINK, 0o600)
        try:
            if LOCKS and not try_lock(handle):
                os.close(handle)
                return None
            if touch:
                os.utime(path)
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # pruned between opening and locking: this file is no longer the lock


# -- how much is kept ---------------------------------------------------------------------------
#
# Trees come and go with commits, and what was compiled of them stays behind: 100 MB in an hour.

MOST_BYTES = 1e9
LIMIT = "RLPERF_CACHE_LIMIT"
"""The variable that sets another limit, such as 300MB."""
PRUNED = "pruned"
"""A file that is touched when the size was looked at."""
LOOK_S = 3600.0
TREES = "base trees"
RESULTS, SNIPPETS = "results", "snippets"
ENVIRONMENTS = "environments"
REMADE = {
    "bytecode": "bytecode",
    "numba": "kernels that Numba compiled",
    "profiles": "flame graphs",
    "scouts": "what runs remember of tests",
    "trainings": "trainings of tests of learning",
    RESULTS: "results of what assistants measured",
    SNIPPETS: "snippets that assistants compared",
}
"""Folders of what a run makes again; it is dropped first where there is too much."""
WHOLE = {ENVIRONMENTS: "environments of rlperf upgrade"}
"""Folders of what can be made again, and is worth nothing in part: who makes it drops what is old,
and the limit of the cache is for the rest."""
KEPT = {"pending": "saves that wait for rlperf accept", "proofs": "verdicts of --rlperf-prove"}
"""Folders of what nobody but the user drops."""


def cache_limit(environ: Mapping[str, str]) -> float:
    """Return the most bytes that the cache may have."""
    chosen = environ.get(LIMIT)
    return parse_bytes(chosen, LIMIT) if chosen else MOST_BYTES


def sizes(cache: Path) -> dict[str, int]:
    """Return the bytes of each kind of thing that there is."""
    found = {words: _size(cache / name) for name, words in (REMADE | WHOLE | KEPT).items()}
    trees = sum(_size(owner.parent) for owner in cache.glob(f"{OWN}/{OWNER}"))
    return {words: size for words, size in {TREES: trees, **found}.items() if size}


def prune(cache: Path, most_bytes: float) -> None:
    """Drop trees that nobody needs any more and, once in an hour, what was compiled of sources that
    are gone and whatever was made longest ago, until the cache is as small as it shall be.
    """
    prune_trees(cache)
    looked = cache / PRUNED
    if looked.exists() and 0 <= time.time() - looked.stat().st_mtime < LOOK_S:
        return
    write_atomically(looked, b"")
    with suppress(FileNotFoundError):  # another run drops the same, or all of it
        _drop_bytecode_of_gone(cache / BYTECODE_FOLDER)
        _shrink(cache, most_bytes)


def clear(cache: Path) -> None:
    """Drop all that can be made again, except what a run holds."""
    prune_trees(cache, keep=0)
    for name in REMADE | WHOLE:
        shutil.rmtree(cache / name, ignore_errors=True)


def _drop_bytecode_of_gone(bytecode: Path) -> None:
    for folder, inner, _ in os.walk(bytecode):
        for name in list(inner):
            place = Path(folder, name)
            if not (Path(place.anchor) / place.relative_to(bytecode)).is_dir():
                shutil.rmtree(place, ignore_errors=True)
                inner.remove(name)


def _shrink(cache: Path, most_bytes: float) -> None:
    """Drop folders of what was made longest ago, then trees longest unused. A folder that a run is
    reading does no harm: Python and Numba compile again what they do not find.
    """
    left = sum(size for words, size in sizes(cache).items() if words not in WHOLE.values())
    made = [Path(f) for name in REMADE for f, _, files in os.walk(cache / name) if files]
    locks = sorted(cache.glob(f"{OWN}/*{LOCK}"), key=_last_use)
    for folder in sorted(made, key=_newest):
        if left <= most_bytes:
            return
        files = [file for file in folder.iterdir() if file.is_file()]
        left -= sum(map(_size, files))
        for file in files:
            file.unlink(missing_ok=True)
    for lock in locks:
        if left > most_bytes:
            left -= _size(lock.with_name(lock.name.removesuffix(LOCK)))
            _drop(lock)


def _newest(folder: Path) -> float:
    return max((_last_use(file) for file in folder.iterdir()), default=0.0)


def _size(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder; links are not followed."""
    if path.is_dir() and not path.is_symlink():
        return sum(
            _size(Path(folder, name)) for folder, _, names in os.walk(path) for name in names
        )
    try:
        return path.lstat().st_size
    except FileNotFoundError:  # another run dropped it
        return 0


# -- bytecode -----------------------------------------------------------------------------------
#
# Workers keep bytecode in a folder of their own (`workers/process.py` says why). In an empty one
# each of them would compile Python's library, pytest and numpy again: four MPI ranks on two busy
# cores took 11 s. So the folder begins with what is compiled already.

BYTECODE_FOLDER = "bytecode"


def seed_bytecode(caches: Path, modules: Iterable[ModuleType], besides: Path) -> None:
    """Copy the bytecode of `modules`; those below `besides`, which are measured, compile their own.

    A copy that is older than its source does no harm: Python looks before it believes.
    """
    for source, compiled in _compiled(modules, besides):
        target = cached_in(caches, source, compiled)
        if not target.exists():
            with suppress(OSError):  # not there, or not for us: it is compiled again
                _copy(compiled, target)


def _compiled(modules: Iterable[ModuleType], besides: Path) -> Iterator[tuple[Path, Path]]:
    for module in modules:
        spec = getattr(module, "__spec__", None)
        source, compiled = getattr(spec, "origin", None), getattr(spec, "cached", None)
        if source and compiled and not Path(source).is_relative_to(besides):
            yield Path(source), Path(compiled)


def cached_in(caches: Path, source: Path, compiled: Path) -> Path:
    """Return where Python looks for it when the folder is its `pycache_prefix`."""
    return caches / BYTECODE_FOLDER / source.parent.relative_to(source.anchor) / compiled.name


# -- kernels that Numba compiled ----------------------------------------------------------------
#
# Numba keeps them by the path of their source, so that the tree of a new base revision would have
# to compile all of them again, for a minute or more. What head has compiled serves the base too, if
# neither the source nor anything that it leads to differs: a kernel holds what it calls.

KERNELS_FOLDER = "numba"


def share_kernels(caches: Path, head: Path, base: Path, files: Sequence[str]) -> None:
    """Give the base the kernels of those `files`, the same in both trees, that lead to no other
    file that differs; `files` are all Python files of the trees.
    """
    folder = caches / KERNELS_FOLDER
    compiled = [path for path in files if _kernels(folder, head / path)]
    tops = {path.partition("/")[0] for path in compiled}
    near = [path for path in files if path.partition("/")[0] in tops]
    differing = _leading_to_differences(head, base, near) if compiled else set()
    for path in compiled:
        if path not in differing and not _kernels(folder, base / path):
            times = (head / path).stat()
            os.utime(base / path, ns=(times.st_atime_ns, times.st_mtime_ns))  # Numba looks at it
            for kernel in _kernels(folder, head / path):
                _copy(kernel, _kernels_of(folder, base / path) / kernel.name)


def _kernels_of(folder: Path, source: Path) -> Path:
    """Return the folder in which Numba keeps what it compiles of a source."""
    place = hashlib.sha1(str(source.parent).encode(), usedforsecurity=False).hexdigest()
    return folder / f"{source.parent.name}_{place}"


def _kernels(folder: Path, source: Path) -> list[Path]:
    return sorted(_kernels_of(folder, source).glob(f"{source.stem}.*"))


def _leading_to_differences(head: Path, base: Path, files: Sequence[str]) -> set[str]:
    """Return the files that differ, and those that mention the name of such a module, and so on:
    more than those that import one, and never fewer.
    """
    words = {path: _words(head / path) for path in files}
    found = {path for path in files if not _is_same(head / path, base / path)}
    while True:
        names = {_module_name(path) for path in found}
        more = {path for path in files if path not in found and not names.isdisjoint(words[path])}
        if not more:
            return found
        found |= more


def _words(file: Path) -> set[str]:
    return set(re.findall(r"\w+", file.read_text("utf-8", "replace"))) if file.is_file() else set()


def _module_name(path: str) -> str:
    parts = path.removesuffix(".py").split("/")
    return parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]


def _is_same(one: Path, other: Path) -> bool:
    return one.is_file() and other.is_file() and filecmp.cmp(one, other, shallow=False)


def _copy(compiled: Path, target: Path) -> None:
    """Copy the file whole or not at all: another run may be reading."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
    with compiled.open("rb") as file, draft.open("xb") as copy:
        shutil.copyfileobj(file, copy)
    os.replace(draft, target)
