"""Which of head's files the base tree gets, so that both sides run the same benchmarks."""

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from pytest_rlperf.launch.git import listed
from pytest_rlperf.launch.places import TEST_FOLDERS

BENCHMARK_FOLDERS = TEST_FOLDERS | {
    "bench",
    "benches",
    "benchmark",
    "perf",
    "perf_tests",
    "performance",
    "performance_tests",
    "testing",
}
"""Names that hold benchmarks, but may hold a library too: only the module's own folder counts."""

CONFTEST, INIT = "conftest.py", "__init__.py"


def overlay_files(root: Path, test_modules: Iterable[Path], inipath: Path | None) -> list[Path]:
    """Head's benchmark modules, what lies beside them, the conftest chain, the configuration.

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
    """Files that would steer pytest if the base still had them; head has not, or no longer."""
    folders = {folder for file in overlay for folder in _folders(root, file.parent)}
    steering = (folder / name for folder in sorted(folders) for name in _steering(root, folder))
    return [file for file in steering if not file.exists()]


def benchmark_folder(relative: PurePath) -> PurePath | None:
    """The outermost folder on the way to `relative` that is named as one of benchmarks."""
    return next((f for f in _outermost_first(relative) if f.name in BENCHMARK_FOLDERS), None)


def _chain(root: Path, folder: Path) -> Iterator[Path]:
    for step in _folders(root, folder):
        yield from (step / name for name in _steering(root, step) if (step / name).is_file())


def _steering(root: Path, folder: Path) -> tuple[str, ...]:
    """The package marker of a library's folder is library code, that of a test folder is not."""
    return (CONFTEST, INIT) if benchmark_folder(folder.relative_to(root)) else (CONFTEST,)


def _folders(root: Path, folder: Path) -> list[Path]:
    """`folder` and those above it up to the root; nothing for one outside the root."""
    return [f for f in (folder, *folder.parents) if f.is_relative_to(root)]


def _whole_folders(root: Path, modules: Iterable[Path]) -> list[Path]:
    inside = (module.parent for module in modules if module.is_relative_to(root))
    whole = {_whole_folder(folder.relative_to(root)) for folder in inside}
    return sorted(root / folder for folder in whole if folder is not None)


def _whole_folder(folder: PurePath) -> PurePath | None:
    """What is copied along with a module in `folder`."""
    tests = (f for f in _outermost_first(folder) if f.name in TEST_FOLDERS)
    return next(tests, folder if benchmark_folder(folder) else None)


def _outermost_first(relative: PurePath) -> list[PurePath]:
    return [*reversed(relative.parents), relative]


def _all_files(folder: Path) -> Iterator[Path]:
    """Tracked and new files; what git ignores (bytecode, results) stays at head."""
    names = listed(folder, "--cached", "--others", "--exclude-standard", "--", ".")
    files = (folder / name for name in names if "__pycache__" not in PurePath(name).parts)
    return (file for file in files if file.is_symlink() or file.is_file())
