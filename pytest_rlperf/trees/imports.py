"""A worker imports its own tree's code, however head's was installed.

`install_tree_finder` makes it so before a test, and `foreign_imports` checks it afterwards. Used
inside workers, so it imports next to nothing.
"""

import importlib
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType

from pytest_rlperf.trees.ownership import Trees, find_regular, relative

KEEP = ("pytest_rlperf", "__main__", "__mp_main__")
"""The measuring code, first file included: head's on both sides, and loaded before the base tree
is. Seen where the tree under test is the plugin's own; multiprocessing, once imported, gives the
first file its second name."""

MAPPING_NAMES = ("MAPPING", "_redirections", "known_source_files")
"""Where editable finders keep name → path: setuptools', `editables`' and scikit-build-core's."""


def import_roots(
    root: str | os.PathLike[str],
    sys_path: Iterable[str],
    modules: Mapping[str, ModuleType],
    meta_path: Iterable[object],
) -> tuple[str, ...]:
    """List the folders, relative to `root`, from which this process imports code of the tree."""
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
) -> None:
    """Import from `own_root` whatever would come from `head_root`.

    At head, where both are the same, the finder changes nothing but costs the same: an import
    that fails in a timed slice must take equally long on both sides.
    """
    trees = Trees.of(own_root, head_root, roots)
    sys.path[:] = moved_path(trees, sys.path)
    sys.meta_path[:] = [f for f in sys.meta_path if not _rebuilds_head(f, trees)]
    sys.meta_path.insert(0, TreeFinder(trees))
    importlib.invalidate_caches()


def moved_path(trees: Trees, sys_path: Iterable[str]) -> list[str]:
    """Replace head's folders on the import path; roots not on it follow at its end, where an
    editable finder would come in: for modules only the base has, and for spawned processes."""
    moved = [trees.moved(e) if _is_place(e) and trees.is_other(e) else e for e in sys_path]
    return list(dict.fromkeys([*moved, *trees.root_folders(trees.own)]))


def _is_place(entry: str) -> bool:
    """Return whether it is a folder, and no word that some finder put on the import path."""
    return os.path.exists(entry or ".")


class TreeFinder:
    """Asks all other finders, and moves what they find in the other tree into the own one."""

    def __init__(self, trees: Trees) -> None:
        self._trees = trees
        self._head_folders = trees.library_folders(trees.head)
        self._own_folders = trees.library_folders(trees.own)
        self._asking = threading.local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in KEEP or self._is_asking(fullname):
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
        """Notice a finder that searches on its own and comes back: it must reach the others."""
        return fullname in getattr(self._asking, "names", ())

    def _ask_others(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        names = self._asking.__dict__.setdefault("names", set())
        names.add(fullname)
        try:
            others = [finder for finder in sys.meta_path if finder is not self]
            finds = [finder.find_spec for finder in others if hasattr(finder, "find_spec")]
            specs = (find_spec(fullname, path, target) for find_spec in finds)
            return next((spec for spec in specs if spec is not None), None)
        finally:
            names.discard(fullname)

    def _elsewhere(self, fullname: str) -> ModuleSpec | None:
        """Find a top-level module that head has, and the base in another layout or not at all."""
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
        own = find_regular(name, [os.path.dirname(folder) if is_package else folder])
        if own is None and os.path.isfile(file):  # a package whose folder has another name
            inside = [folder] if is_package else None
            own = spec_from_file_location(name, file, submodule_search_locations=inside)
        if own is None and "." not in name:
            own = find_regular(name, self._own_folders)
        if own is None:
            raise self._missing(name)
        return own

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
        """Notice part of a package of the base that lies outside of the base tree: head's compiled
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


def _rebuilds_head(finder: object, trees: Trees) -> bool:
    """Know meson-python's finder: it runs head's build at import, which must not serve the base."""
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
    """Return the folder from which `import name` finds `file`; None: the names do not match."""
    folder, base = os.path.split(os.path.abspath(file))
    if base.partition(".")[0] != "__init__":
        folder = os.path.join(folder, base.partition(".")[0])
    for part in reversed(name.split(".")):
        folder, base = os.path.split(folder)
        if base != part:
            return None
    return folder


# -- after a test: did this side import its own tree's code? ---------------------------------------


@dataclass(frozen=True, slots=True)
class ForeignImport:
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
) -> list[ForeignImport]:
    """List modules loaded from the other tree, or from neither although the own tree has them.

    At head, where both roots are the same, only the second can be.
    """
    trees = Trees.of(own_root, other_root, roots)
    loaded = _loaded_modules(modules)
    checked = (_check_import(trees, name, file, modules) for name, file in loaded)
    return [foreign for foreign in checked if foreign is not None]


def tree_modules(root: str | os.PathLike[str], modules: Mapping[str, ModuleType]) -> dict[str, str]:
    """Map the top-level names imported from the tree to their file, a namespace's to its folder."""
    tree = os.path.abspath(root)
    loaded = _loaded_modules(modules)
    return {n: f for n, f in loaded if "." not in n and relative(f, tree) is not None}


def explain(foreign: Sequence[ForeignImport]) -> str:
    """Write one sentence about the first, which is the outermost package, and what to do."""
    first = foreign[0]
    others = f" (and {len(foreign) - 1} more)" if len(foreign) > 1 else ""
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


def _check_import(
    trees: Trees, name: str, file: str, modules: Mapping[str, ModuleType]
) -> ForeignImport | None:
    if trees.is_other(file):
        return ForeignImport(name, file, trees.moved(file), True)
    if trees.is_own(file) or name in sys.stdlib_module_names:
        return None
    if "." in name:
        expected = _package_in_base(trees, modules.get(name.rpartition(".")[0]))
        compiled = file.endswith(tuple(EXTENSION_SUFFIXES))
        return ForeignImport(name, file, expected, False) if compiled and expected else None
    own = find_regular(name, trees.library_folders(trees.own))
    return ForeignImport(name, file, own.origin, False) if own and own.origin else None


def _package_in_base(trees: Trees, package: ModuleType | None) -> str | None:
    """Return the folder of a package that lies in the base tree as a whole."""
    folders = search_path(package)
    whole = trees.is_base and bool(folders) and all(map(trees.is_own, folders))
    return folders[0] if whole else None


def _loaded_modules(modules: Mapping[str, ModuleType]) -> Iterator[tuple[str, str]]:
    """Yield name and place of every module, outermost first; aliases of others are left out."""
    for name, module in sorted(modules.items()):
        spec = getattr(module, "__spec__", None)
        alias = spec is not None and getattr(spec, "name", name) != name
        if alias or name.partition(".")[0] in KEEP:
            continue
        if (place := _place(module)) is not None:
            yield name, place


def _place(module: ModuleType) -> str | None:
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else next(iter(search_path(module)), None)


def search_path(module: ModuleType | None) -> list[str]:
    """List the folders of a package; objects that answer to any attribute have none."""
    try:
        return [path for path in getattr(module, "__path__", ()) if isinstance(path, str)]
    except TypeError:
        return []
