"""The line of a function to look at: the first that is not what it was."""

import ast
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from pytest_rlperf.judge.sources import FunctionNode, Module


class _Line(NamedTuple):
    number: int
    text: str


def line_to_look_at(head: Module, base: Module | None, name: str) -> int | None:
    """Of head's text; where nothing of the function differs, its first. None: there is no such
    function.
    """
    node = head.functions.get(name)
    if node is None:
        return None
    old = None if base is None else base.functions.get(name)
    if base is None or old is None:
        return node.lineno
    return _first_changed(list(_code(head.text, node)), list(_code(base.text, old))) or node.lineno


def _first_changed(new: list[_Line], old: list[_Line]) -> int | None:
    """Where lines are gone, the one after them."""
    before, after = ([line.text for line in lines] for lines in (old, new))
    matched = SequenceMatcher(None, before, after, autojunk=False)
    for tag, _, _, start, _ in matched.get_opcodes():
        if tag != "equal":
            return new[min(start, len(new) - 1)].number
    return None


def _code(text: str, node: FunctionNode) -> Iterator[_Line]:
    """Its lines, without its docstring, comments and blank ones."""
    assert node.end_lineno is not None
    body = range(node.lineno, node.end_lineno + 1)
    lines = text.splitlines()
    for number in body:
        line = lines[number - 1].rstrip()
        if line and not line.lstrip().startswith("#") and number not in _docstring(node):
            yield _Line(number, line)


def _docstring(node: FunctionNode) -> range:
    if ast.get_docstring(node, clean=False) is None:
        return range(0)
    first = node.body[0]
    assert first.end_lineno is not None
    return range(first.lineno, first.end_lineno + 1)
