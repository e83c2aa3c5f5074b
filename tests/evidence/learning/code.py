"""A name for the code that decides what is learned: comments, docstrings and layout do not count.

Trainings take hours; another sentence in a docstring, or another option of the command line, is no
reason to make them again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final

# Below rl_impls: what a training in one process runs, of an agent on NumPy and of a table.
_SHARED: Final = ("envs", "jit.py", "schedules.py", "splitmix.py")
OF_AGENTS: Final = (*_SHARED, "agents", "nets", "replay")
OF_TABLES: Final = (*_SHARED, "api.py", "tabular")
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def name_of(package: Path, parts: Iterable[str]) -> str:
    """Return a name that is the same as long as these parts of a package do the same."""
    digest = sha256()
    for part in parts:
        place = package / part
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(path.relative_to(package).as_posix().encode())
            digest.update(meaning_of(path.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:12]


def meaning_of(source: str) -> str:
    """Return the syntax of a module without its docstrings and without where it stands."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)
