"""Whose file is this: the side's own tree's, the other tree's, or nobody's of the two?

Used inside workers, so it imports next to nothing.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder
from pathlib import PurePosixPath
from types import ModuleType
from typing import Self

INSTALLED = frozenset({"site-packages", "dist-packages", ".tox", ".nox", "__pypackages__"})
ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta")
SOURCE_FOLDER = "src"

TEST_FOLDERS = frozenset({"tests", "test", "benchmarks"})
"""Names that never hold a library: helpers, fixtures and data in them belong to the tests."""


@dataclass(frozen=True)
class Trees:
    """The tree a side is to import from, and the one it must not. At head they are the same."""

    own: str
    other: str
    roots: tuple[str, ...]  # folders in a tree that code is imported from, best first

    @classmethod
    def of(
        cls,
        own: str | os.PathLike[str],
        other: str | os.PathLike[str],
        roots: Sequence[str],
    ) -> Self:
        return cls(os.path.abspath(own), os.path.abspath(other), tuple(roots))

    @property
    def is_base(self) -> bool:
        return self.own != self.other

    @property
    def head(self) -> str:
        return self.other

    def is_own(self, path: str) -> bool:
        return relative(path, self.own) is not None and not self.is_other(path)

    def is_other(self, path: str) -> bool:
        """By the real path, since a link in the base tree may lead to head's file. Where one
        tree lies inside the other, the inner one's files are its own."""
        if not self.is_base:
            return False
        real = _real(path)
        owners = [tree for tree in (self.own, self.other) if relative(real, tree) is not None]
        return bool(owners) and max(owners, key=lambda tree: len(_real(tree))) == self.other

    def moved(self, path: str) -> str:
        """The counterpart in the own tree of a path in the other one."""
        inside = relative(path, self.other)
        return path if inside is None else join(self.own, inside)

    def root_folders(self, tree: str) -> list[str]:
        """Where the tree's code is imported from at head, tests included."""
        folders = (join(tree, root) for root in self.roots)
        return [folder for folder in folders if os.path.isdir(folder)]

    def library_folders(self, tree: str) -> list[str]:
        """Where the tree's library may lie, even in another layout than head's."""
        return [join(tree, folder) for folder in library_roots(self.roots)]


def library_roots(roots: tuple[str, ...]) -> list[str]:
    """The roots, every folder above one, and the `src` of each: the base may be laid out
    otherwise, and an installed copy must be noticed although no root leads to the tree's own.

    Test folders are left out: `tests/numpy/__init__.py` is not numpy.
    """
    above = [str(folder) for root in (*roots, "x") for folder in PurePosixPath(root).parents]
    sources = [str(PurePosixPath(folder, SOURCE_FOLDER)) for folder in above]
    unique = dict.fromkeys((*roots, *above, *sources))
    return [root for root in unique if TEST_FOLDERS.isdisjoint(root.split("/"))]


def join(tree: str, folder: str) -> str:
    return os.path.normpath(os.path.join(tree, folder))


def relative(path: str, tree: str) -> str | None:
    """`path` inside `tree`, with "/" and "." for the tree itself; None for what is outside, or in
    an environment kept inside the tree. Links are resolved only where it takes that."""
    inside = _below(os.path.abspath(path), tree)
    if inside is None:
        inside = _below(_real(path), _real(tree))
    if inside is None or _is_installed(tree, inside):
        return None
    return inside.replace(os.sep, "/") or "."


def find_regular(name: str, folders: list[str]) -> ModuleSpec | None:
    """The module in these folders; a bare folder of that name is none."""
    spec = PathFinder.find_spec(name, folders)
    return None if spec is None or spec.loader is None else spec


def _below(path: str, tree: str) -> str | None:
    if path == tree:
        return ""
    start = tree.rstrip(os.sep) + os.sep
    return path[len(start) :] if path.startswith(start) else None


@lru_cache(maxsize=4096)
def _real(path: str) -> str:
    return os.path.realpath(path)


@lru_cache(maxsize=4096)
def _is_installed(tree: str, inside: str) -> bool:
    """Whether the path lies in an environment: the tree itself may lie in one."""
    if not inside:
        return False
    folder, name = os.path.split(inside)
    marks = (os.path.join(tree, inside, mark) for mark in ENVIRONMENT_MARKS)
    return name in INSTALLED or any(map(os.path.exists, marks)) or _is_installed(tree, folder)


# After a test: did this side import its own tree's code?
#
# Used inside workers, so it imports next to nothing.


KEEP = ("pytest_rlperf", "__main__", "__mp_main__")
"""The measuring code, first file included: head's on both sides, and loaded before the base tree
is. Seen where the tree under test is the plugin's own; multiprocessing, once imported, gives the
first file its second name."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A module that came from the wrong place."""

    name: str
    file: str
    expected: str  # where its own tree has it, or would have it
    in_other_tree: bool  # or else in neither, such as an installed copy


def foreign_imports(
    own_root: str | os.PathLike[str],
    other_root: str | os.PathLike[str],
    roots: Sequence[str],
    modules: Mapping[str, ModuleType],
    keep: Sequence[str] = KEEP,
) -> list[Foreign]:
    """Modules loaded from the other tree, or from neither although the own tree has them.

    At head, where both roots are the same, only the second can be.
    """
    trees = Trees.of(own_root, other_root, roots)
    loaded = _loaded(modules, frozenset(keep))
    checked = (_check(trees, name, file, modules) for name, file in loaded)
    return [found for found in checked if found is not None]


def tree_modules(
    root: str | os.PathLike[str], modules: Mapping[str, ModuleType], keep: Sequence[str] = KEEP
) -> dict[str, str]:
    """Top-level name → file (or folder, of a namespace) of what was imported from the tree."""
    tree = os.path.abspath(root)
    loaded = _loaded(modules, frozenset(keep))
    return {n: f for n, f in loaded if "." not in n and relative(f, tree) is not None}


def explain(found: Sequence[Foreign]) -> str:
    """One sentence about the first, which is the outermost package, and what to do."""
    first = found[0]
    others = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    what = f"{first.name} was imported from {first.file}{others} instead of {first.expected}"
    if first.in_other_tree:
        return (
            f"{what}, so this side did not measure its own code: remove what puts the working "
            "tree's absolute path into sys.path, PYTHONPATH or a conftest.py."
        )
    if "." in first.name:
        return (
            f"{what}, so the base would run head's compiled code: set rlperf_build to the command "
            "that builds the package in place, in the tree it is run in."
        )
    return (
        f"{what}, so both sides would measure the same installed copy: install the project "
        "editable (pip install -e .), or uninstall it and run from its folder."
    )


def _check(trees: Trees, name: str, file: str, modules: Mapping[str, ModuleType]) -> Foreign | None:
    if trees.is_other(file):
        return Foreign(name, file, trees.moved(file), True)
    if trees.is_own(file) or name in sys.stdlib_module_names:
        return None
    if "." in name:
        expected = _package_in_base(trees, modules.get(name.rpartition(".")[0]))
        compiled = file.endswith(tuple(EXTENSION_SUFFIXES))
        return Foreign(name, file, expected, False) if compiled and expected else None
    own = find_regular(name, trees.library_folders(trees.own))
    return Foreign(name, file, own.origin, False) if own and own.origin else None


def _package_in_base(trees: Trees, package: ModuleType | None) -> str | None:
    """The folder of a package that lies in the base tree as a whole."""
    folders = search_path(package)
    whole = trees.is_base and bool(folders) and all(map(trees.is_own, folders))
    return folders[0] if whole else None


def _loaded(modules: Mapping[str, ModuleType], keep: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Name and place of every module, outermost first; aliases of another module are left out."""
    for name, module in sorted(modules.items()):
        spec = getattr(module, "__spec__", None)
        alias = spec is not None and getattr(spec, "name", name) != name
        if alias or name.partition(".")[0] in keep:
            continue
        if (place := _place(module)) is not None:
            yield name, place


def _place(module: ModuleType) -> str | None:
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else next(iter(search_path(module)), None)


def search_path(module: ModuleType | None) -> list[str]:
    """The folders of a package; objects that answer to any attribute have none."""
    try:
        return [path for path in getattr(module, "__path__", ()) if isinstance(path, str)]
    except TypeError:
        return []
