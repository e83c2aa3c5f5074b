"""The commands that a page tells its reader to type."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.docs.markdown import Block, Page

SHELLS = frozenset({"", "text", "console", "sh", "bash"})
PROMPT = "$ "
COMMENT = re.compile(r"\s+# (?P<text>.*)$")
EXIT_CODE = re.compile(r"exit code (\d)")
STEP = re.compile(r"(?:- )?run: (?P<command>.+)")
PROGRAMS = frozenset(
    {"git", "make", "mpiexec", "pip", "pre-commit", "pytest", "pytest-benchmark", "python"}
    | {"python3", "rlperf"}
)
IN_SENTENCES = re.compile(
    r"pytest( --rlperf.*)?|(rlperf|make|python -m|pip install|pre-commit|mpiexec) .+"
)
"""`git push` in a sentence is git's own business, and `python` alone a program."""


@dataclass(frozen=True, slots=True)
class Command:
    text: str  # without its comment
    code: int = 0  # that it ends with


def commands_of(page: Page) -> list[Command]:
    """Return all commands of a page, in blocks and in sentences."""
    within = [command for block in page.blocks for command in block_commands(block)]
    return within + [Command(span) for span in page.spans if IN_SENTENCES.fullmatch(span)]


def block_commands(block: Block) -> Iterator[Command]:
    lines = block.text.replace("\\\n", " ").splitlines()
    if block.language == "yaml":
        steps = (STEP.fullmatch(line.strip()) for line in lines)
        yield from (Command(step["command"]) for step in steps if step and _is_one(step["command"]))
    elif block.language in SHELLS:
        yield from shell_commands(lines)


def shell_commands(lines: list[str]) -> Iterator[Command]:
    """Yield the commands among lines; where there are prompts, all else is output."""
    prompted = any(line.startswith(PROMPT) for line in lines)
    for line in lines:
        text = line.removeprefix(PROMPT)
        if line.startswith(PROMPT) if prompted else _is_one(text):
            yield _command(text)


def _is_one(text: str) -> bool:
    return text.split(" ", 1)[0] in PROGRAMS


def _command(text: str) -> Command:
    comment = COMMENT.search(text)
    said = EXIT_CODE.search(comment["text"]) if comment else None
    return Command(" ".join(COMMENT.sub("", text).split()), int(said[1]) if said else 0)
