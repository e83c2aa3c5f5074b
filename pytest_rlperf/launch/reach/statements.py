"""The import statements of a file, wherever in it they stand."""

import ast
from collections.abc import Iterator
from typing import NamedTuple


class Imported(NamedTuple):
    """A name that an import statement may load: `from a import b` loads `a` and perhaps `a.b`."""

    name: str  # dotted; empty for `from . import b` itself
    level: int  # leading dots


def imported_names(source: bytes) -> Iterator[Imported]:
    """Raises SyntaxError or ValueError for what is no Python."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (Imported(alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parent = node.module or ""
            yield Imported(parent, node.level)
            for alias in node.names:
                yield Imported(f"{parent}.{alias.name}".lstrip("."), node.level)
