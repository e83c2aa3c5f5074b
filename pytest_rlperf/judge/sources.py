"""What two versions of the same modules differ in, function by function.

A profiler cannot look into compiled code. Where a compiled function took longer, the functions that
were compiled into it and whose source changed are the ones to look at. They are found by name, in
the function and in those it calls; where that finds none, because code was chosen while compiling
(as Numba's `overload` does), they are the changed ones in the modules it imports, except those that
ran as Python.
"""

import ast
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property

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
        """By qualified name, as the interpreter names them."""
        return dict(_functions_in(self._tree, ""))

    @cached_property
    def imported(self) -> dict[str, Place]:
        """Names that come from elsewhere: the module, and what they are called there."""
        found = {}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    found[alias.asname or alias.name] = (node.module, alias.name)
        return found

    @cached_property
    def modules(self) -> set[str]:
        """All that it imports, or imports from."""
        plain = {
            alias.name
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        from_some = {
            name for module, n in self.imported.values() for name in (module, f"{module}.{n}")
        }
        return plain | from_some


def changed_functions(head: Module, base: Module | None) -> frozenset[str]:
    """Those of head that are new, or whose own code is not what it was."""
    if base is not None and base.text == head.text:
        return frozenset()
    before = {} if base is None else base.functions
    return frozenset(
        name
        for name, node in head.functions.items()
        if name not in before or _own_code(node) != _own_code(before[name])
    )


def compiled_into(
    place: Place,
    modules: Mapping[str, Module],
    changed: Mapping[str, Set[str]],
    ran: Set[Place],
) -> list[Place]:
    """The changed functions that the compiled function at `place` is made of, its own included."""
    by_name = [found for found in _reached(place, modules) if found[1] in changed.get(found[0], ())]
    if by_name:
        return by_name
    return [
        (module, name)
        for module in _imported(place[0], modules)
        for name in sorted(changed.get(module, ()))
        if (module, name) not in ran
    ]


def _reached(place: Place, modules: Mapping[str, Module]) -> list[Place]:
    """The function and those it names, and so on."""
    found, ahead = [], [place]
    while ahead:
        module, name = ahead.pop(0)
        if (module, name) in found or name not in modules[module].functions:
            continue
        found.append((module, name))
        for used in _names(modules[module].functions[name]):
            if used in modules[module].functions:
                ahead.append((module, used))
            elif (other := modules[module].imported.get(used)) and other[0] in modules:
                ahead.append(other)
    return found


def _imported(module: str, modules: Mapping[str, Module]) -> list[str]:
    """The module and those of the tree that it imports, and so on."""
    found: list[str] = []
    ahead = [module]
    while ahead:
        name = ahead.pop(0)
        if name in modules and name not in found:
            found.append(name)
            ahead += sorted(modules[name].modules)
    return found


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
    """Without the functions defined in it, its docstring, and where it stands."""
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
