"""The bytecode cache of a run's workers, begun with what is compiled already.

Workers keep bytecode in a folder of their own (see `environment`). In an empty one each of them
would compile Python's library, pytest and numpy again: four MPI ranks on two busy cores took 11 s.
"""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

FOLDER = "bytecode"


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
    """Where Python looks for it when the folder is its `pycache_prefix`."""
    return caches / FOLDER / source.parent.relative_to(source.anchor) / compiled.name


def _copy(compiled: Path, target: Path) -> None:
    """Whole or not at all: another run may be reading."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    shutil.copyfile(compiled, draft)
    os.replace(draft, target)
