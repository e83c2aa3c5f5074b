"""From what a user types to programs with their words: split by us, or left to the shell.

A shell between the command and its measurement costs a millisecond of its own, which dilutes every
change, so there is none where the words can be split as the shell would. All commands of a duet
have one if one of them needs it: else they would differ by the shell.
"""

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.duet.runner import Program
from pytest_rlperf.errors import UsageError

SPECIAL = frozenset("|&;<>()$`*?[\n")
"""What the shell acts on outside of quotes."""
IN_QUOTES = frozenset("$`")
"""What it acts on between double quotes."""
AT_BEGINNING = frozenset("~#")
"""What it acts on where a word begins."""
WORDS_OF_SHELL = frozenset(
    {"!", "{", ".", ":", "alias", "case", "cd", "command", "eval", "exec", "exit", "export"}
    | {"for", "if", "read", "set", "shift", "source", "trap", "type", "ulimit", "umask", "unset"}
    | {"until", "wait", "while"}
)
"""What is no program, or another one in a shell."""


@dataclass(frozen=True, slots=True)
class DuetCommand:
    """A command as the user typed it, and the program that it starts."""

    text: str
    program: Program


@dataclass(frozen=True, slots=True)
class DuetCommands:
    """All commands, and by which shell they are run; None: by none."""

    each: tuple[DuetCommand, ...]
    shell: str | None


def read_commands(texts: Sequence[str], shell: bool | None) -> DuetCommands:
    """Return what the texts start; `shell`: whether by a shell, None: where one of them needs it.
    What cannot be started is refused.
    """
    for text in texts:
        if not _words(text):
            raise UsageError("a command is empty; give each as one argument: 'sort words.txt'.")
    by_shell = any(map(needs_shell, texts)) if shell is None else shell
    if not by_shell:
        return DuetCommands(tuple(DuetCommand(text, _program(text)) for text in texts), None)
    path = shutil.which("sh")
    if path is None:
        raise UsageError("there is no shell `sh` on PATH; add --no-shell.")
    programs = (Program(path, ("sh", "-c", text)) for text in texts)
    each = tuple(DuetCommand(text, program) for text, program in zip(texts, programs, strict=True))
    _check_first_words(texts)
    return DuetCommands(each, path)


def needs_shell(text: str) -> bool:
    """Return whether only a shell makes of the text what its writer means."""
    quote, begins, escaped = "", True, False
    for sign in text:
        if escaped:
            escaped, begins = False, False
        elif quote:
            if quote == '"' and sign in IN_QUOTES:
                return True
            escaped = quote == '"' and sign == "\\"
            quote = "" if sign == quote else quote
        elif sign in SPECIAL or (begins and sign in AT_BEGINNING):
            return True
        else:
            escaped = sign == "\\"
            quote = sign if sign in "'\"" else ""
            begins = sign.isspace()
    words = _words(text)
    return bool(words) and (words[0] in WORDS_OF_SHELL or "=" in words[0])


def _check_first_words(texts: Sequence[str]) -> None:
    """Refuse a simple command that is not there before the shell says so in every run."""
    for text in texts:
        if not needs_shell(text):
            _program(text)


def _program(text: str) -> Program:
    words = _words(text)
    path = shutil.which(words[0])
    if path is not None:
        return Program(path, words)
    if words[0] in WORDS_OF_SHELL:
        raise UsageError(f"{words[0]!r} is a word of the shell; leave --no-shell out.")
    if Path(words[0]).is_file():
        cure = f"make it so (chmod +x {words[0]}), or name the program that reads it"
        raise UsageError(f"{words[0]!r} is not executable; {cure}.")
    why = "is not there" if "/" in words[0] else "was not found on PATH"
    raise UsageError(f"{words[0]!r} {why}; name a program that can be started.")


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        why = "a quote is not closed" if "quotation" in str(error) else "it ends in a backslash"
        raise UsageError(f"the command {text!r} cannot be split: {why}.") from None
