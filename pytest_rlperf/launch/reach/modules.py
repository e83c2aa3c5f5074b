"""Names of modules and the files of the repository that hold them."""

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pytest_rlperf.launch.places import TEST_FOLDERS, relative

INIT = "__init__.py"


@dataclass(frozen=True)
class Modules:
    """Those that this process would import from the tree under `top`, and nobody else's."""

    top: Path
    _found: dict[str, tuple[Path, ...]] = field(default_factory=dict, repr=False)

    def folders(self, package: str) -> tuple[Path, ...]:
        """Of a top-level package of the tree; none for what is a single file, or elsewhere."""
        if package not in self._found:
            self._found[package] = tuple(self._search(package))
        return tuple(place for place in self._found[package] if place.is_dir())

    def is_library(self, package: str) -> bool:
        """Helpers of the tests are none: some files there may be no Python, on purpose."""
        return package not in TEST_FOLDERS and bool(self.folders(package))

    def files(self, name: str) -> Iterator[Path]:
        """All that `import name` runs: the packages on the way, and the module itself."""
        package, *parts = name.split(".")
        folders = self.folders(package)
        if not folders:
            yield from (place for place in self._found[package] if place.is_file())
        for folder in folders:
            yield from files_below(folder, parts)

    def name_of(self, file: Path, package: str) -> str | None:
        """The module of `package` that `file` holds."""
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


def files_below(folder: Path, parts: list[str]) -> Iterator[Path]:
    """The package in `folder`, and what lies on the way to the module `parts` in it."""
    yield from _existing(folder / INIT)
    for part in parts:
        yield from _existing(folder / f"{part}.py")
        folder = folder / part
        yield from _existing(folder / INIT)


def _existing(file: Path) -> Iterator[Path]:
    if file.is_file():
        yield file
