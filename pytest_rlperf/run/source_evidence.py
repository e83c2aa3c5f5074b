"""Adds to an explanation what the two trees' sources say of the functions it blames."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from pytest_rlperf.judge.sources import Module, Place, changed_functions, compiled_into
from pytest_rlperf.model.profile import Function
from pytest_rlperf.model.why import Cause, Explanation, Source, Spot
from pytest_rlperf.run.changed_lines import line_to_look_at

MOST_EDITED = 3
"""Named where nobody is blamed."""

Imported = Mapping[str, Mapping[str, str]]  # side → top-level module → file, or folder


@dataclass(frozen=True, slots=True)
class Sources:
    """The modules of the tree that a test imported, with all that their packages hold."""

    modules: Mapping[str, Module]  # head's
    bases: Mapping[str, Module]
    changed: Mapping[str, frozenset[str]]  # functions, by module
    module_of: Mapping[str, str]  # file, relative to the tree → module
    file_of: Mapping[str, str]

    @classmethod
    def read(cls, imported: Imported, tree: Path) -> Self:
        files, base_files = (_files(imported.get(side, {})) for side in ("head", "base"))
        heads, bases = _modules(files), _modules(base_files)
        changed = {name: changed_functions(m, bases.get(name)) for name, m in heads.items()}
        short = {name: _relative(file, tree) for name, file in files.items()}
        return cls(heads, bases, changed, {file: name for name, file in short.items()}, short)

    def place(self, function: Function) -> Place | None:
        module = self.module_of.get(function.file)
        return None if module is None else (module, function.name)

    def function(self, place: Place) -> Function:
        return Function(self.file_of[place[0]], place[1])

    def spot(self, place: Place) -> Spot | None:
        module, name = place
        line = line_to_look_at(self.modules[module], self.bases.get(module), name)
        return None if line is None else Spot(self.file_of[module], line)


def with_sources(
    explanation: Explanation, sources: Sources, ran: Sequence[Function]
) -> Explanation:
    """`ran` are the functions that the profiler saw."""
    places = frozenset(place for each in ran if (place := sources.place(each)) is not None)
    if not explanation.causes and explanation.pairs:
        return replace(explanation, note=_with_changed(explanation.note, sources, places))
    causes = tuple(_with_source(cause, sources, places) for cause in explanation.causes)
    return replace(explanation, causes=causes)


def _with_changed(note: str | None, sources: Sources, ran: frozenset[Place]) -> str | None:
    """That a function which ran was edited is a fact, and no blame."""
    edited = sorted(
        str(sources.function((module, name)))
        for module, name in ran
        if name in sources.changed.get(module, ())
    )
    if note is None or not edited:
        return note
    more = f" and {len(edited) - MOST_EDITED} more" if len(edited) > MOST_EDITED else ""
    return f"{note}; the source of {', '.join(edited[:MOST_EDITED])}{more} changed"


def _with_source(cause: Cause, sources: Sources, ran: frozenset[Place]) -> Cause:
    place = sources.place(cause.function)
    if place is None or place[0] not in sources.changed:
        return cause
    changed = place[1] in sources.changed[place[0]]
    source = Source.CHANGED if changed else Source.SAME
    inlined: list[Place] = []
    if cause.compiled and not changed:
        inlined = compiled_into(place, sources.modules, sources.changed, ran)
    at = sources.spot(inlined[0] if inlined else place)
    return replace(cause, source=source, inlined=tuple(map(sources.function, inlined)), at=at)


def _files(imported: Mapping[str, str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for name, file in imported.items():
        path = Path(file)
        folder = path.parent if path.name == "__init__.py" else path
        if folder.is_dir():
            found |= {_dotted(name, inner, folder): inner for inner in folder.rglob("*.py")}
        else:
            found[name] = path
    return found


def _dotted(package: str, file: Path, folder: Path) -> str:
    parts = file.relative_to(folder).with_suffix("").parts
    return ".".join((package, *(part for part in parts if part != "__init__")))


def _modules(files: Mapping[str, Path]) -> dict[str, Module]:
    found = {}
    for name, file in files.items():
        try:
            found[name] = Module(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):  # compiled, or gone meanwhile
            continue
    return found


def _relative(file: Path, tree: Path) -> str:
    return file.relative_to(tree).as_posix() if file.is_relative_to(tree) else str(file)
