"""Which tests a change can reach.

In doubt it reaches them: a test that is left out wrongly is a regression that nobody sees.
"""

from collections.abc import Iterable, Set
from pathlib import Path

PROSE = frozenset({".md", ".rst", ".png", ".svg", ".jpg", ".gif", ".ipynb", ".html", ".css"})
"""Endings of files that people read and no test runs."""
STEERING = frozenset({"setup.py"})
"""Python that builds what the tests import."""
CONFTEST = "conftest.py"


def is_reached(test: Path, imports: Set[Path], changed: Iterable[Path], top: Path) -> bool:
    """`imports` are the files that the test's file leads to, itself and its conftests included."""
    return any(_reaches(file, test, imports, top) for file in changed)


def _reaches(file: Path, test: Path, imports: Set[Path], top: Path) -> bool:
    if file in imports:
        return True
    if _is_prose(file, top):
        return False
    if file.suffix != ".py" or file.name in STEERING:
        return True  # data, a setting, or the source of something compiled
    if file.name == CONFTEST:
        return test.is_relative_to(file.parent)  # one that is gone
    return _leads_nowhere(test, imports)


def _is_prose(file: Path, top: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(top).parts)
    return hidden or file.suffix in PROSE


def _leads_nowhere(test: Path, imports: Set[Path]) -> bool:
    """It imports nothing of the project, so what it runs is found in some other way."""
    return all(file == test or file.name == CONFTEST for file in imports)
