"""Making a worker import its own tree's code, however head's was installed.

Used inside workers, so it imports next to nothing.
"""

import importlib
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType
from typing import Any

from pytest_rlperf.trees.ownership import (
    KEEP,
    Foreign,
    Trees,
    explain,
    find_regular,
    foreign_imports,
    relative,
    search_path,
    tree_modules,
)

__all__ = [
    "Foreign",
    "explain",
    "foreign_imports",
    "import_roots",
    "install_tree_finder",
    "tree_modules",
]

MAPPING_NAMES = ("MAPPING", "_redirections", "known_source_files")
"""Where editable finders keep name → path: setuptools', `editables`' and scikit-build-core's."""


def import_roots(
    root: str | os.PathLike[str],
    sys_path: Iterable[str],
    modules: Mapping[str, ModuleType],
    meta_path: Iterable[object],
) -> tuple[str, ...]:
    """The folders, relative to `root`, from which this process imports code of the tree."""
    tree = os.path.abspath(root)
    on_path = list(sys_path)
    loaded = (_parent_of(name, file) for name, file in _top_level_files(modules))
    mapped = (_parent_of(name, file) for name, file in _mapped_files(meta_path, modules))
    folders = [*on_path, *(folder for folder in (*loaded, *mapped) if folder is not None)]
    inside = (relative(folder, tree) for folder in folders if _is_place(folder))
    return tuple(dict.fromkeys(folder for folder in inside if folder is not None))


def install_tree_finder(
    head_root: str | os.PathLike[str],
    own_root: str | os.PathLike[str],
    roots: Sequence[str],
    keep: Sequence[str] = KEEP,
) -> None:
    """Import from `own_root` whatever would come from `head_root`.

    At head, where both are the same, the finder changes nothing but costs the same: an import
    that fails in a timed slice must take equally long on both sides.
    """
    trees = Trees.of(own_root, head_root, roots)
    sys.path[:] = moved_path(trees, sys.path)
    sys.meta_path[:] = [f for f in sys.meta_path if not _rebuilds_head(f, trees)]
    sys.meta_path.insert(0, TreeFinder(trees, frozenset(keep)))
    importlib.invalidate_caches()


def moved_path(trees: Trees, sys_path: Iterable[str]) -> list[str]:
    """The import path with head's folders replaced; roots not on it follow at its end, where an
    editable finder would come in: for modules only the base has, and for spawned processes."""
    moved = [trees.moved(e) if _is_place(e) and trees.is_other(e) else e for e in sys_path]
    return list(dict.fromkeys([*moved, *trees.root_folders(trees.own)]))


def _is_place(entry: str) -> bool:
    """Some finders put a word on the import path that is no folder."""
    return os.path.exists(entry or ".")


class TreeFinder:
    """Asks all other finders, and moves what they find in the other tree into the own one."""

    def __init__(self, trees: Trees, keep: frozenset[str]) -> None:
        self._trees = trees
        self._keep = keep
        self._head_folders = trees.library_folders(trees.head)
        self._own_folders = trees.library_folders(trees.own)
        self._asking = threading.local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in self._keep or self._is_asking(fullname):
            return None
        spec = self._ask_others(fullname, path, target)
        if spec is None:
            return self._elsewhere(fullname) if path is None else None
        if spec.loader is None:
            return self._moved_namespace(spec)
        if spec.origin is None or not spec.has_location:
            return spec  # built in or frozen
        if self._trees.is_other(spec.origin):
            return self._moved_module(spec, spec.origin)
        if path is not None and self._is_stray(spec.origin, path):
            raise self._missing(fullname)
        return spec

    def _is_asking(self, fullname: str) -> bool:
        """A finder that searches on its own comes back here; it must reach the others."""
        return fullname in getattr(self._asking, "names", ())

    def _ask_others(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        names = self._asking.__dict__.setdefault("names", set())
        names.add(fullname)
        try:
            others = (finder for finder in list(sys.meta_path) if finder is not self)
            asked = (_find(finder, fullname, path, target) for finder in others)
            return next((spec for spec in asked if spec is not None), None)
        finally:
            names.discard(fullname)

    def _elsewhere(self, fullname: str) -> ModuleSpec | None:
        """A top-level module that head has, and the base in another layout or not at all."""
        at_head = find_regular(fullname, self._head_folders)
        if at_head is None or not self._trees.is_base:
            return None
        own = find_regular(fullname, self._own_folders)
        if own is None:
            raise self._missing(fullname)
        return own

    def _moved_module(self, spec: ModuleSpec, origin: str) -> ModuleSpec:
        trees, name = self._trees, spec.name
        file = trees.moved(origin)
        folder = os.path.dirname(file)
        is_package = spec.submodule_search_locations is not None
        # By name first: a module may have become a package since, or the other way round.
        found = find_regular(name, [os.path.dirname(folder) if is_package else folder])
        if found is None and os.path.isfile(file):  # a package whose folder has another name
            inside = [folder] if is_package else None
            found = spec_from_file_location(name, file, submodule_search_locations=inside)
        if found is None and "." not in name:
            found = find_regular(name, self._own_folders)
        if found is None:
            raise self._missing(name)
        return found

    def _moved_namespace(self, spec: ModuleSpec) -> ModuleSpec:
        trees = self._trees
        places = list(spec.submodule_search_locations or ())
        if not any(trees.is_other(place) for place in places):
            return spec
        moved = [trees.moved(place) if trees.is_other(place) else place for place in places]
        fresh = ModuleSpec(spec.name, None, is_package=True)
        fresh.submodule_search_locations = list(dict.fromkeys(moved))
        return fresh

    def _is_stray(self, origin: str, package_path: Sequence[str]) -> bool:
        """Part of a package of the base that lies outside of the base tree: head's compiled
        part, which some editable installations keep elsewhere."""
        if not self._trees.is_base or self._trees.is_own(origin):
            return False
        return all(map(self._trees.is_own, package_path))

    def _missing(self, fullname: str) -> ModuleNotFoundError:
        return ModuleNotFoundError(
            f"No module named {fullname!r} in the base revision ({self._trees.own}): only head "
            "has it; if it is compiled, set rlperf_build to the command that builds it in place",
            name=fullname,
        )


def _find(
    finder: Any, fullname: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    find_spec = getattr(finder, "find_spec", None)
    return None if find_spec is None else find_spec(fullname, path, target)


def _rebuilds_head(finder: object, trees: Trees) -> bool:
    """meson-python's finder runs head's build at import, which is no business of the base's."""
    names = getattr(finder, "_top_level_modules", None)
    if not trees.is_base or type(finder).__name__ != "MesonpyMetaFinder" or not names:
        return False
    return any(find_regular(name, trees.library_folders(trees.own)) for name in names)


def _top_level_files(modules: Mapping[str, ModuleType]) -> Iterator[tuple[str, str]]:
    for name, module in list(modules.items()):
        if "." not in name:
            places = [getattr(module, "__file__", None), *search_path(module)]
            yield from ((name, place) for place in places if isinstance(place, str))


def _mapped_files(
    meta_path: Iterable[object], modules: Mapping[str, ModuleType]
) -> Iterator[tuple[str, str]]:
    for finder in meta_path:
        kind = finder if isinstance(finder, type) else type(finder)
        for holder in (finder, modules.get(kind.__module__)):
            for mapping in (getattr(holder, name, None) for name in MAPPING_NAMES):
                if isinstance(mapping, dict):
                    yield from ((str(name), str(path)) for name, path in mapping.items())


def _parent_of(name: str, file: str) -> str | None:
    """The folder from which `import name` finds `file`; None where the names do not match."""
    folder, base = os.path.split(os.path.abspath(file))
    if base.partition(".")[0] != "__init__":
        folder = os.path.join(folder, base.partition(".")[0])
    for part in reversed(name.split(".")):
        folder, base = os.path.split(folder)
        if base != part:
            return None
    return folder
