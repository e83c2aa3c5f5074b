"""Files that grow line by line: a line is a JSON object, and it is whole or it is not there.

A writer that is killed in the middle leaves a torn last line. The next one puts it aside, into a
file beside, so that neither the lines before nor those to come are spoiled and nothing is lost. A
last line that lacks nothing but its end is whole.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pytest_rlperf.errors import UsageError
from pytest_rlperf.store.locking import wait_for_lock

ASIDE = ".torn"


@dataclass(frozen=True, slots=True)
class Lines:
    """What a file holds."""

    whole: tuple[str, ...]
    torn: bytes = b""  # the beginning of a line; empty: there is none


@dataclass(frozen=True, slots=True)
class Appended:
    """What became of lines that were to be appended."""

    added: int
    aside: Path | None = None  # where a torn line was put; None: there was none


def split_lines(content: bytes) -> Lines:
    text, newline, last = content.rpartition(b"\n")
    lines = text.split(b"\n") if newline else []
    torn = bool(last) and not _is_whole(last)
    if last and not torn:
        lines.append(last)
    whole = tuple(line.decode("utf-8", errors="replace") for line in lines)
    return Lines(whole, last if torn else b"")


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def read_lines(path: Path) -> list[str]:
    """All but a torn last one; none where there is no file."""
    return list(split_lines(path.read_bytes()).whole) if path.exists() else []


def append_lines(path: Path, lines: Iterable[str], *, once: bool = False) -> Appended:
    """In one write, on disk when this returns, and one writer at a time; `once`: only those that
    are not there yet.
    """
    with path.open("ab+") as file:
        if not wait_for_lock(file.fileno()):
            raise UsageError(f"another process is writing {path}; wait for it, and append again.")
        file.seek(0)
        content = file.read()
        found = split_lines(content)
        aside = _put_aside(path, file, content, found.torn)
        known = set(found.whole) if once else set()
        new = [line for line in lines if line not in known]
        unended = bool(content) and not found.torn and not content.endswith(b"\n")
        _write(file, ("\n" if unended else "") + joined(new))
    return Appended(len(new), aside)


def _put_aside(path: Path, file: IO[bytes], content: bytes, torn: bytes) -> Path | None:
    if not torn:
        return None
    aside = path.with_name(path.name + ASIDE)
    with aside.open("ab") as kept:
        _write(kept, torn.decode("utf-8", errors="replace") + "\n")
    file.truncate(len(content) - len(torn))
    return aside


def _write(file: IO[bytes], text: str) -> None:
    file.write(text.encode())
    file.flush()
    os.fsync(file.fileno())
