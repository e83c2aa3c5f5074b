"""Every file of the repository that a file imports, directly or through others.

Inside of packages grimp tells, which reads each once. Test files, conftests and helpers are in no
package that it could read, so their own import statements are followed until they lead into one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_rlperf.errors import RlperfError
from pytest_rlperf.launch.reach.modules import Modules, files_below
from pytest_rlperf.launch.reach.statements import imported_names

if TYPE_CHECKING:
    from grimp import ImportGraph


class ImportsUnknown(RlperfError):
    """It cannot be told what a test imports."""


@dataclass(frozen=True)
class Imports:
    """What the files of a tree import, as far as it lies in the tree."""

    modules: Modules
    packages: tuple[str, ...]
    graph: "ImportGraph | None"  # None: there is no package

    @classmethod
    def around(cls, files: Iterable[Path], top: Path) -> "Imports":
        """`files` say which packages there are to look at."""
        modules = Modules(top)
        bare = cls(modules, (), None)
        packages: set[str] = set()
        found = set(bare._top_names(files))
        while new := {name for name in found if modules.is_library(name)} - packages:
            packages |= new
            graph = _graph(packages)
            found = {name.partition(".")[0] for name in graph.modules}
        return cls(modules, tuple(sorted(packages)), graph) if packages else bare

    def _top_names(self, files: Iterable[Path]) -> Iterator[str]:
        for file in self.reached(files):
            yield from (name.partition(".")[0] for name, level in _names(file) if not level)

    def reached(self, files: Iterable[Path]) -> frozenset[Path]:
        """`files` and all that they lead to."""
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
    """With what they import from other packages: some of those may be in the tree too."""
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
