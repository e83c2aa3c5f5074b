"""Which of head's files a base tree gets, so that both sides run the same benchmarks.

`overlay_files` chooses them. `apply_patch` lays them over the `Checkout` of a revision, and takes
those of an earlier run off again.
"""

import filecmp
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath, PurePosixPath

from pytest_rlperf.errors import RevisionError
from pytest_rlperf.files import write_atomically
from pytest_rlperf.reading import parse_json, typed
from pytest_rlperf.trees.git import GitFailed, Revision, git, listed
from pytest_rlperf.trees.ownership import TEST_FOLDERS

# -- which files --------------------------------------------------------------------------------

BENCHMARK_FOLDERS = TEST_FOLDERS | {
    "bench", "benches", "benchmark", "perf", "perf_tests", "performance", "performance_tests",
    "testing",
}  # fmt: skip
"""Names that hold benchmarks, but may hold a library too: only the module's own folder counts."""

CONFTEST, INIT = "conftest.py", "__init__.py"


def overlay_files(root: Path, test_modules: Iterable[Path], inipath: Path | None) -> list[Path]:
    """List head's benchmark modules, what lies beside them, the conftest chain, the configuration.

    Library code must never be among them: head would be compared with itself.
    """
    modules = sorted(set(test_modules))
    files = set(modules)
    for folder in sorted({module.parent for module in modules}):
        files.update(_chain(root, folder))
    for folder in _whole_folders(root, modules):
        files.update(_all_files(folder))
    if inipath is not None and inipath.is_relative_to(root):
        files.add(inipath)
    return sorted(files)


def stale_files(root: Path, overlay: Iterable[Path]) -> list[Path]:
    """List files that would steer pytest if the base still had them; head has them no longer."""
    folders = {folder for file in overlay for folder in _folders(root, file.parent)}
    steering = (folder / name for folder in sorted(folders) for name in _steering(root, folder))
    return [file for file in steering if not file.exists()]


def benchmark_folder(relative: PurePath) -> PurePath | None:
    """Find the outermost folder on the way to `relative` that is named as one of benchmarks."""
    return next((f for f in _outermost_first(relative) if f.name in BENCHMARK_FOLDERS), None)


def _chain(root: Path, folder: Path) -> Iterator[Path]:
    for step in _folders(root, folder):
        yield from (step / name for name in _steering(root, step) if (step / name).is_file())


def _steering(root: Path, folder: Path) -> tuple[str, ...]:
    """Name the files that steer pytest: `__init__.py` in a folder of tests, not in a library's."""
    return (CONFTEST, INIT) if benchmark_folder(folder.relative_to(root)) else (CONFTEST,)


def _folders(root: Path, folder: Path) -> list[Path]:
    """List `folder` and those above it up to the root; nothing for one outside the root."""
    return [f for f in (folder, *folder.parents) if f.is_relative_to(root)]


def _whole_folders(root: Path, modules: Iterable[Path]) -> list[Path]:
    inside = (module.parent for module in modules if module.is_relative_to(root))
    whole = {_whole_folder(folder.relative_to(root)) for folder in inside}
    return sorted(root / folder for folder in whole if folder is not None)


def _whole_folder(folder: PurePath) -> PurePath | None:
    """Return the folder that is copied along with a module in `folder`."""
    tests = (f for f in _outermost_first(folder) if f.name in TEST_FOLDERS)
    return next(tests, folder if benchmark_folder(folder) else None)


def _outermost_first(relative: PurePath) -> list[PurePath]:
    return [*reversed(relative.parents), relative]


def _all_files(folder: Path) -> Iterator[Path]:
    """Yield tracked and new files; what git ignores (bytecode, results) stays at head."""
    names = listed(folder, "--cached", "--others", "--exclude-standard", "--", ".")
    files = (folder / name for name in names if "__pycache__" not in PurePath(name).parts)
    return (file for file in files if file.is_symlink() or file.is_file())


# -- the files of a revision --------------------------------------------------------------------

SUBMODULE = "160000"
"""git's file mode of a submodule."""


class Checkout:
    """Writes the files of a revision elsewhere, by an `index` of its own, never the user's."""

    def __init__(self, top: Path, revision: Revision, index: Path) -> None:
        self._top = top
        self._revision = revision
        self._env = {"GIT_INDEX_FILE": str(index)}
        for file in (index, index.with_name(f"{index.name}.lock")):  # a killed git leaves its lock
            file.unlink(missing_ok=True)
        self._git("read-tree", revision.sha)
        modes = _modes(listed(top, "--stage", env=self._env))
        self.tracked = frozenset(path for path, mode in modes.items() if mode != SUBMODULE)
        self.submodules = tuple(path for path, mode in modes.items() if mode == SUBMODULE)

    def write_all(self, tree: Path) -> None:
        tree.mkdir(parents=True)
        self._git("checkout-index", "--all", f"--prefix={tree}/")

    def write(self, tree: Path, paths: Iterable[str]) -> None:
        names = "".join(f"{path}\0" for path in paths)
        if names:
            self._git("checkout-index", "-z", "--stdin", "-f", f"--prefix={tree}/", names=names)

    def _git(self, *args: str, names: str | None = None) -> None:
        stdin = None if names is None else os.fsencode(names)
        try:
            git(self._top, *args, stdin=stdin, env=self._env)
        except GitFailed as error:
            raise RevisionError(
                f"{self._revision.label} cannot be laid out: git said {error.stderr!r}; check "
                "that the clone is whole (`git fsck`) and the disk has room."
            ) from error


def _modes(staged: Iterable[str]) -> Mapping[str, str]:
    """Map paths to their modes, from lines such as `100644 <hash> 0<tab>path`."""
    split = (line.partition("\t") for line in staged)
    return {path: facts.split(" ", 1)[0] for facts, _, path in split}


# -- the files of head over them ----------------------------------------------------------------


def read_manifest(manifest: Path) -> frozenset[str]:
    """Return the paths in which the tree differs from its revision because of an earlier run."""
    try:
        paths = typed(tuple[str, ...], parse_json(manifest.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return frozenset()
    except (OSError, ValueError) as error:
        raise RevisionError(
            f"{manifest} cannot be read ({error}); drop it with `rlperf cache --clear`."
        ) from None
    return frozenset(paths)


def apply_patch(
    tree: Path,
    manifest: Path,
    checkout: Checkout,
    placed: Mapping[str, Path],
    removed: Iterable[str],
) -> None:
    """Make `tree` its revision plus the files `placed` (path in the tree → file of head), less
    the paths `removed`. Files that need no change keep their times, and so their bytecode.
    """
    earlier = read_manifest(manifest)
    folders = {str(folder) for path in placed for folder in PurePosixPath(path).parents}
    blocking = {path for path in folders - {"."} if _is_no_folder(tree / path)}
    touched = {*placed, *removed, *blocking, *(earlier & folders)}
    # Written first with all that may change: a crash half way leaves nothing unaccounted for.
    _write_manifest(manifest, earlier | touched)
    _restore(tree, checkout, earlier - touched)
    for path in {*blocking, *removed}:
        _discard(tree / path)
    for path, source in placed.items():
        _copy(source, tree / path)
    _write_manifest(manifest, touched)


def _restore(tree: Path, checkout: Checkout, paths: frozenset[str]) -> None:
    for path in paths:
        _discard(tree / path)
        _drop_empty_folders(tree, tree / path)
    checkout.write(tree, sorted(t for t in checkout.tracked if _is_at_or_below(t, paths)))


def _is_at_or_below(path: str, places: frozenset[str]) -> bool:
    return path in places or any(str(folder) in places for folder in PurePosixPath(path).parents)


def _is_no_folder(path: Path) -> bool:
    """Return whether it cannot hold files: a link to a folder cannot, it could leave the tree."""
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())


def _discard(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _drop_empty_folders(tree: Path, path: Path) -> None:
    for folder in path.parents:
        if folder == tree or not folder.is_dir() or any(folder.iterdir()):
            return
        folder.rmdir()


def _copy(source: Path, target: Path) -> None:
    if _is_same(source, target):
        return
    _discard(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target, follow_symlinks=False)


def _is_same(source: Path, target: Path) -> bool:
    if source.is_symlink() or target.is_symlink():
        both = source.is_symlink() and target.is_symlink()
        return both and os.readlink(source) == os.readlink(target)
    return target.is_file() and filecmp.cmp(source, target)


def _write_manifest(manifest: Path, paths: Iterable[str]) -> None:
    write_atomically(manifest, json.dumps(sorted(paths), indent=0))
