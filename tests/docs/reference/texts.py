"""Words that stand in the code, as cells and sentences of Markdown."""

import inspect
import re
from collections.abc import Iterable, Sequence
from types import ModuleType

FIELD = re.compile(r"    (?P<name>\w+): .*?  # (?P<comment>.+)")
PLAIN = re.compile(
    r"(?<![\w`{/-])(?P<word>(?:pytest )?--[a-z][a-z-]*|\$?[A-Za-z]+(?:_[A-Za-z]+)+)(?![\w`])"
)
CODE = re.compile(r"(`[^`]*`)")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell(text) for text in line)} |" for line in lines)


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: object) -> str:
    return f"`{text}`"


def prose(text: str) -> str:
    """Options, settings and variables in it as code, or dashes would become something else."""
    parts = CODE.split(" ".join(text.split()))
    return "".join(part if part.startswith("`") else _with_code(part) for part in parts)


def _with_code(text: str) -> str:
    return PLAIN.sub(lambda match: code(match["word"]), text)


def comments(of: type) -> dict[str, str]:
    """Return the comments behind the fields of a dataclass."""
    found = (FIELD.fullmatch(line) for line in inspect.getsource(of).splitlines())
    return {match["name"]: match["comment"] for match in found if match}


def docstring(of: object) -> str:
    """Its first paragraph."""
    text = inspect.getdoc(of)
    name = of.__name__ if isinstance(of, ModuleType) else repr(of)
    if not text:
        raise ValueError(f"{name} has no docstring; the reference needs one.")
    return prose(text.split("\n\n")[0])


def signature(of: object) -> str:
    """Names and defaults, without types and without `self`."""
    if not callable(of):
        raise TypeError(f"{of!r} cannot be called")
    taken = inspect.signature(of)
    bare = [
        given.replace(annotation=inspect.Parameter.empty)
        for name, given in taken.parameters.items()
        if name != "self"
    ]
    return str(inspect.Signature(bare))
