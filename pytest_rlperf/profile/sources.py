"""What the two trees' sources say of the functions that a profile blames.

Two versions of the same modules are compared function by function, and of a function that changed
the first changed line is the one to look at.

A profiler cannot look into compiled code. Where a compiled function took longer, the functions that
were compiled into it and whose source changed are the ones to look at. They are found by name, in
the function and in those it calls; where that finds none, because code was chosen while compiling
(as Numba's `overload` does), they are the changed ones in the modules it imports, except those that
ran as Python.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, unified_diff
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

from pytest_rlperf.model.profile import (
    Cause,
    Edit,
    Explanation,
    Function,
    SideProfile,
    Source,
    Spot,
)

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Place = tuple[str, str]  # module, qualified name


@dataclass(frozen=True)
class Module:
    """One module's text, and what stands in it. Text that is no Python has nothing in it."""

    text: str

    @cached_property
    def _tree(self) -> ast.Module:
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError):
            return ast.Module([], [])

    @cached_property
    def functions(self) -> dict[str, FunctionNode]:
        """The functions by qualified name, as the interpreter names them."""
        return dict(_functions_in(self._tree, ""))

    def lines_of(self, name: str) -> list[str]:
        """Return the source of a function, decorators included; empty: it is not there."""
        node = self.functions.get(name)
        if node is None:
            return []
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        return self.text.splitlines()[first - 1 : node.end_lineno]

    @cached_property
    def imported(self) -> dict[str, Place]:
        """Names that come from elsewhere: the module, and what they are called there."""
        return {
            alias.asname or alias.name: (node.module, alias.name)
            for node in ast.walk(self._tree)
            if isinstance(node, ast.ImportFrom) and node.module and not node.level
            for alias in node.names
        }

    @cached_property
    def modules(self) -> set[str]:
        """The modules that it imports, or imports from."""
        plain = {
            alias.name
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        from_others = {
            name for module, n in self.imported.values() for name in (module, f"{module}.{n}")
        }
        return plain | from_others


def changed_functions(head: Module, base: Module | None) -> frozenset[str]:
    """Return the functions of head that are new, or whose own code is not what it was."""
    if base is not None and base.text == head.text:
        return frozenset()
    before = {} if base is None else base.functions
    return frozenset(
        name
        for name, node in head.functions.items()
        if name not in before or _own_code(node) != _own_code(before[name])
    )


def compiled_into(
    place: Place, modules: Mapping[str, Module], changed: Mapping[str, Set[str]], ran: Set[Place]
) -> list[Place]:
    """Return the changed functions that the compiled one at `place` is made of, itself included."""
    by_name = [
        (module, name)
        for module, name in _reached(place, modules)
        if name in changed.get(module, ())
    ]
    if by_name:
        return by_name
    return [
        (module, name)
        for module in _imported(place[0], modules)
        for name in sorted(changed.get(module, ()))
        if (module, name) not in ran
    ]


def _reached(place: Place, modules: Mapping[str, Module]) -> list[Place]:
    """Return the function and those it names, and so on."""
    reached, ahead = [], [place]
    while ahead:
        module, name = ahead.pop(0)
        if (module, name) in reached or name not in modules[module].functions:
            continue
        reached.append((module, name))
        for used in _names(modules[module].functions[name]):
            if used in modules[module].functions:
                ahead.append((module, used))
            elif (other := modules[module].imported.get(used)) and other[0] in modules:
                ahead.append(other)
    return reached


def _imported(module: str, modules: Mapping[str, Module]) -> list[str]:
    """Return the module and those of the tree that it imports, and so on."""
    imported: list[str] = []
    ahead = [module]
    while ahead:
        name = ahead.pop(0)
        if name in modules and name not in imported:
            imported.append(name)
            ahead += sorted(modules[name].modules)
    return imported


def _names(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield each.id


def _functions_in(node: ast.AST, prefix: str) -> Iterator[tuple[str, FunctionNode]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FunctionNode):
            yield prefix + child.name, child
            yield from _functions_in(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions_in(child, f"{prefix}{child.name}.")
        else:
            yield from _functions_in(child, prefix)


def _own_code(node: FunctionNode) -> str:
    """Return a function's code without those defined in it, its docstring, and where it stands."""
    return ast.dump(_Bare().visit(ast.parse(ast.unparse(node)).body[0]))


class _Bare(ast.NodeTransformer):
    def __init__(self) -> None:
        self._inside = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if self._inside:
            return ast.Pass()
        self._inside = True
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self.visit_FunctionDef(node)  # type: ignore[arg-type]


# -- the line of a function to look at -----------------------------------------------------------


class _SourceLine(NamedTuple):
    number: int
    text: str


def line_to_look_at(head: Module, base: Module | None, name: str) -> int | None:
    """Return the first line of head's function that is not what it was; where nothing differs, its
    first. None: there is no such function.
    """
    node = head.functions.get(name)
    if node is None:
        return None
    old = None if base is None else base.functions.get(name)
    if base is None or old is None:
        return node.lineno
    return _first_changed(list(_code(head.text, node)), list(_code(base.text, old))) or node.lineno


def _first_changed(new: list[_SourceLine], old: list[_SourceLine]) -> int | None:
    """Return the number of the first line that differs; where some are gone, the one after them."""
    before, after = ([line.text for line in lines] for lines in (old, new))
    matched = SequenceMatcher(None, before, after, autojunk=False)
    for tag, _, _, start, _ in matched.get_opcodes():
        if tag != "equal":
            return new[min(start, len(new) - 1)].number
    return None


def _code(text: str, node: FunctionNode) -> Iterator[_SourceLine]:
    """Yield a function's lines, without its docstring, comments and blank ones."""
    assert node.end_lineno is not None
    body = range(node.lineno, node.end_lineno + 1)
    lines = text.splitlines()
    for number in body:
        line = lines[number - 1].rstrip()
        if line and not line.lstrip().startswith("#") and number not in _docstring(node):
            yield _SourceLine(number, line)


def _docstring(node: FunctionNode) -> range:
    if ast.get_docstring(node, clean=False) is None:
        return range(0)
    first = node.body[0]
    assert first.end_lineno is not None
    return range(first.lineno, first.end_lineno + 1)


# -- what an explanation gains from the sources --------------------------------------------------

MOST_DIFFS = 3
"""Edits whose diff is kept."""
DIFF_LINES = 40
"""The lines of a diff that are kept."""
CONTEXT = 2
"""Unchanged lines around those that changed."""

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

    def diff(self, place: Place) -> tuple[str, ...]:
        """Return how the function's source differs, each line behind " ", "-" or "+"."""
        module, name = place
        base = self.bases.get(module)
        before, after = (
            [] if m is None else m.lines_of(name) for m in (base, self.modules[module])
        )
        lines = list(unified_diff(before, after, lineterm="", n=CONTEXT))[2:]
        parts = [line if line[:1] != "@" else " ..." for line in lines]
        kept = parts[1:] if parts[:1] == [" ..."] else parts
        return tuple(kept if len(kept) <= DIFF_LINES else [*kept[:DIFF_LINES], " ..."])

    def suspects(self, profiles: Iterable[SideProfile]) -> frozenset[Function]:
        """Return the functions that ran and whose source changed, or into which changed ones were
        compiled.
        """
        costs = {name: cost for p in profiles for name, cost in p.functions.items()}
        ran = self.places(costs)
        return frozenset(
            function
            for function, cost in costs.items()
            if (place := self.place(function)) is not None
            and (self.is_changed(place) or (cost.compiled and self.inlined(place, ran)))
        )

    def places(self, functions: Iterable[Function]) -> frozenset[Place]:
        return frozenset(p for each in functions if (p := self.place(each)) is not None)

    def is_changed(self, place: Place) -> bool:
        return place[1] in self.changed.get(place[0], ())

    def inlined(self, place: Place, ran: Set[Place]) -> list[Place]:
        """Return the changed functions that were compiled into this one, which did not change."""
        if place[0] not in self.changed:
            return []
        return compiled_into(place, self.modules, self.changed, ran)


def with_sources(
    explanation: Explanation, sources: Sources, ran: Iterable[Function]
) -> Explanation:
    """Add what the sources say of those blamed, and the functions that were edited; `ran` are those
    that the profiler saw.
    """
    places = sources.places(ran)
    causes = tuple(_with_source(cause, sources, places) for cause in explanation.causes)
    blamed = [f for c in causes for f in (c.inlined or (c.function,))]
    edited = {sources.function(place) for place in places if sources.is_changed(place)}
    edited |= {function for cause in causes for function in cause.inlined}
    first = [function for function in dict.fromkeys(blamed) if function in edited]
    named = [*first, *sorted(edited.difference(first))]
    edits = tuple(_edit(function, sources, n < MOST_DIFFS) for n, function in enumerate(named))
    return replace(explanation, causes=causes, edits=edits)


def _edit(function: Function, sources: Sources, shown: bool) -> Edit:
    place = sources.place(function)
    assert place is not None
    return Edit(function, sources.spot(place), sources.diff(place) if shown else ())


def _with_source(cause: Cause, sources: Sources, ran: frozenset[Place]) -> Cause:
    place = sources.place(cause.function)
    if place is None or place[0] not in sources.changed:
        return cause
    changed = sources.is_changed(place)
    source = Source.CHANGED if changed else Source.SAME
    inlined = sources.inlined(place, ran) if cause.compiled and not changed else []
    at = sources.spot(inlined[0] if inlined else place)
    return replace(cause, source=source, inlined=tuple(map(sources.function, inlined)), at=at)


def _files(imported: Mapping[str, str]) -> dict[str, Path]:
    """Return the files of the modules, with all that their packages hold."""
    files: dict[str, Path] = {}
    for name, file in imported.items():
        path = Path(file)
        folder = path.parent if path.name == "__init__.py" else path
        if folder.is_dir():
            files |= {_dotted(name, inner, folder): inner for inner in folder.rglob("*.py")}
        else:
            files[name] = path
    return files


def _dotted(package: str, file: Path, folder: Path) -> str:
    parts = file.relative_to(folder).with_suffix("").parts
    return ".".join((package, *(part for part in parts if part != "__init__")))


def _modules(files: Mapping[str, Path]) -> dict[str, Module]:
    modules = {}
    for name, file in files.items():
        with suppress(OSError, UnicodeDecodeError):  # compiled, or gone meanwhile
            modules[name] = Module(file.read_text(encoding="utf-8"))
    return modules


def _relative(file: Path, tree: Path) -> str:
    return file.relative_to(tree).as_posix() if file.is_relative_to(tree) else str(file)
