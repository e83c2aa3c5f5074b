"""After a test: did this side import its own tree's code?

Used inside workers, so it imports next to nothing.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType

from pytest_rlperf.launch.places import Trees, find_regular, relative

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
