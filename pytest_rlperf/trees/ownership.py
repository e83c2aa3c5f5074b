"""Which tree a file belongs to: the side's own, the other one, or neither.

Used inside workers, so it imports next to nothing.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import PurePosixPath
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
        cls, own: str | os.PathLike[str], other: str | os.PathLike[str], roots: Sequence[str]
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
        """Go by the real path, since a link in the base tree may lead to head's file. Where one
        tree lies inside the other, the inner one's files are its own."""
        if not self.is_base:
            return False
        real = _real(path)
        owners = [tree for tree in (self.own, self.other) if relative(real, tree) is not None]
        return bool(owners) and max(owners, key=lambda tree: len(_real(tree))) == self.other

    def moved(self, path: str) -> str:
        """Return the counterpart in the own tree of a path in the other one."""
        inside = relative(path, self.other)
        return path if inside is None else join(self.own, inside)

    def root_folders(self, tree: str) -> list[str]:
        """List where the tree's code is imported from at head, tests included."""
        folders = (join(tree, root) for root in self.roots)
        return [folder for folder in folders if os.path.isdir(folder)]

    def library_folders(self, tree: str) -> list[str]:
        """List where the tree's library may lie, even in another layout than head's."""
        return [join(tree, folder) for folder in library_roots(self.roots)]


def library_roots(roots: tuple[str, ...]) -> list[str]:
    """List the roots, every folder above one, and the `src` of each: the base may be laid out
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
    """Return `path` inside `tree`, with "/", and "." for the tree itself; None for what is outside,
    or in an environment kept inside the tree. Links are resolved only where it takes that."""
    inside = _below(os.path.abspath(path), tree)
    if inside is None:
        inside = _below(_real(path), _real(tree))
    if inside is None or _is_installed(tree, inside):
        return None
    return inside.replace(os.sep, "/") or "."


def find_regular(name: str, folders: list[str]) -> ModuleSpec | None:
    """Find the module in these folders; a bare folder of that name is none."""
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
    """Return whether the path lies in an environment in the tree, which may lie in one itself."""
    if not inside:
        return False
    folder, name = os.path.split(inside)
    marks = (os.path.join(tree, inside, mark) for mark in ENVIRONMENT_MARKS)
    return name in INSTALLED or any(map(os.path.exists, marks)) or _is_installed(tree, folder)
