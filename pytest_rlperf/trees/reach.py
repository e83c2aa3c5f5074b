"""Which tests a change can reach: the files in which two revisions differ, and who imports them.

Inside of packages grimp tells who imports what, and reads each file once. Test files, conftests and
helpers are in no package that it could read, so their own import statements are followed until they
lead into one. In doubt a change reaches a test: one that is left out wrongly is a regression that
nobody sees.
"""

import ast
import importlib.util
import os
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from pytest_rlperf.errors import RlperfError
from pytest_rlperf.trees.git import git, listed, top_level
from pytest_rlperf.trees.ownership import TEST_FOLDERS, relative

if TYPE_CHECKING:
    from grimp import ImportGraph


def changed_files(root: Path, base: str, head: str | None) -> frozenset[Path]:
    """Return real paths, of files that are gone too; where `head` is None, of new ones."""
    top, _ = top_level(root)
    revisions = (base,) if head is None else (base, head)
    diff = git(top, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", *revisions, "--")
    new = listed(top, "--others", "--exclude-standard") if head is None else []
    folder = Path(os.path.realpath(top))
    return frozenset(folder / name for name in (*diff.split("\0"), *new) if name)


# -- modules, their files and what these import -------------------------------------------------

INIT = "__init__.py"


class Imported(NamedTuple):
    """A name that an import statement may load: `from a import b` loads `a` and perhaps `a.b`."""

    name: str  # dotted; empty for `from . import b` itself
    level: int  # leading dots


def imported_names(source: bytes) -> Iterator[Imported]:
    """Yield what the import statements of a file load, wherever they stand; raises SyntaxError or
    ValueError for what is no Python.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (Imported(alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parent = node.module or ""
            yield Imported(parent, node.level)
            for alias in node.names:
                yield Imported(f"{parent}.{alias.name}".lstrip("."), node.level)


@dataclass(frozen=True)
class Modules:
    """The modules that this process would import from the tree under `top`, and their files."""

    top: Path
    _places: dict[str, tuple[Path, ...]] = field(default_factory=dict, repr=False)

    def folders(self, package: str) -> tuple[Path, ...]:
        """List the folders of a package of the tree; none for a file, or what lies elsewhere."""
        if package not in self._places:
            self._places[package] = tuple(self._search(package))
        return tuple(place for place in self._places[package] if place.is_dir())

    def is_library(self, package: str) -> bool:
        """Return whether it is a library: the tests' helpers may be no Python, on purpose."""
        return package not in TEST_FOLDERS and bool(self.folders(package))

    def files(self, name: str) -> Iterator[Path]:
        """Yield all that `import name` runs: the packages on the way, and the module itself."""
        package, *parts = name.split(".")
        folders = self.folders(package)
        if not folders:
            yield from (place for place in self._places[package] if place.is_file())
        for folder in folders:
            yield from files_below(folder, parts)

    def name_of(self, file: Path, package: str) -> str | None:
        """Name the module of `package` that `file` holds."""
        for folder in self.folders(package):
            if file.is_relative_to(folder):
                parts = file.relative_to(folder).with_suffix("").parts
                inside = parts[:-1] if parts[-1] == "__init__" else parts
                return ".".join((package, *inside))
        return None

    def _search(self, name: str) -> Iterator[Path]:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):  # a module that was made by hand has none
            return
        if spec is None:
            return
        places = spec.submodule_search_locations or [spec.origin or ""]
        for place in map(os.path.realpath, places):
            if relative(place, str(self.top)) is not None:
                yield Path(place)


def files_below(folder: Path, parts: list[str]) -> list[Path]:
    """List the package in `folder`, and what lies on the way to the module `parts` in it."""
    files = [folder / INIT]
    for part in parts:
        files += [folder / f"{part}.py", folder / part / INIT]
        folder = folder / part
    return [file for file in files if file.is_file()]


class ImportsUnknown(RlperfError):
    """Raised where it cannot be told what a test imports."""


@dataclass(frozen=True)
class Imports:
    """Tells what the files of a tree import, as far as it lies in the tree."""

    modules: Modules
    packages: tuple[str, ...]
    graph: "ImportGraph | None"  # None: there is no package

    @classmethod
    def around(cls, files: Iterable[Path], top: Path) -> "Imports":
        """Look at the packages that `files` lead to."""
        modules = Modules(top)
        bare = cls(modules, (), None)
        packages: set[str] = set()
        names = set(bare._top_names(files))
        while new := {name for name in names if modules.is_library(name)} - packages:
            packages |= new
            graph = _graph(packages)
            names = {name.partition(".")[0] for name in graph.modules}
        return cls(modules, tuple(sorted(packages)), graph) if packages else bare

    def _top_names(self, files: Iterable[Path]) -> Iterator[str]:
        for file in self.reached(files):
            yield from (name.partition(".")[0] for name, level in _names(file) if not level)

    def reached(self, files: Iterable[Path]) -> frozenset[Path]:
        """Return `files` and all that they lead to."""
        seen: set[Path] = set()
        left = list(files)
        while left:
            file = left.pop()
            if file not in seen:
                seen.add(file)
                left.extend(self._direct(file))
        return frozenset(seen)

    def _direct(self, file: Path) -> Iterator[Path]:
        for package in self.packages:
            name = self.modules.name_of(file, package)
            if self.graph is not None and name in self.graph.modules:
                for imported in self.graph.find_modules_directly_imported_by(name):
                    yield from self.modules.files(imported)
                return
        for name, level in _names(file):
            if level:
                yield from files_below(file.parents[level - 1], name.split(".") if name else [])
            else:
                yield from self.modules.files(name)


def _names(file: Path) -> Iterable[tuple[str, int]]:
    if file.suffix != ".py":
        return ()
    try:
        return list(imported_names(file.read_bytes()))
    except (OSError, SyntaxError, ValueError) as error:
        raise ImportsUnknown(f"{file} cannot be read ({error})") from None


def _graph(packages: Iterable[str]) -> "ImportGraph":
    """Build the graph with what they import from other packages, which may be in the tree too."""
    try:
        import grimp
    except ImportError:
        raise ImportsUnknown(
            "grimp is not installed (pip install 'pytest-rlperf[hooks]')"
        ) from None
    try:
        return grimp.build_graph(*packages, include_external_packages=True, cache_dir=None)
    except Exception as error:  # of a package that it cannot read; there is no base class
        raise ImportsUnknown(f"grimp cannot read {', '.join(sorted(packages))} ({error})") from None


# -- what a changed file reaches ----------------------------------------------------------------

PROSE = frozenset({".md", ".rst", ".png", ".svg", ".jpg", ".gif", ".ipynb", ".html", ".css"})
"""Endings of files that people read and no test runs."""
FOR_PEOPLE = frozenset({"doc", "docs"})
"""Folders of a repository for whose files the same holds, but for Python."""
STEERING = frozenset({"setup.py"})
"""Python that builds what the tests import."""
CONFTEST = "conftest.py"


def is_reached(test: Path, imports: Set[Path], changed: Iterable[Path], top: Path) -> bool:
    """Return whether any changed file reaches the test. `imports` are the files that the test's
    file leads to, itself and its conftests included.
    """
    return any(_reaches(file, test, imports, top) for file in changed)


def _reaches(file: Path, test: Path, imports: Set[Path], top: Path) -> bool:
    if file in imports:
        return True
    if is_prose(file.relative_to(top).as_posix()):
        return False
    if file.suffix != ".py" or file.name in STEERING:
        return True  # data, a setting, or the source of something compiled
    if file.name == CONFTEST:
        return test.is_relative_to(file.parent)  # one that is gone
    return _leads_nowhere(test, imports)


def is_prose(path: str) -> bool:
    """Return whether a file of the tree is read by people only, or hidden from programs."""
    parts, suffix = path.split("/"), PurePosixPath(path).suffix
    hidden = any(part.startswith(".") for part in parts)
    documents = len(parts) > 1 and parts[0] in FOR_PEOPLE and suffix != ".py"
    return hidden or documents or suffix in PROSE


def _leads_nowhere(test: Path, imports: Set[Path]) -> bool:
    """Notice a test that imports nothing of the project: what it runs is found in another way."""
    return all(file == test or file.name == CONFTEST for file in imports)
