"""Files that grow line by line: a line is whole, or it is not there."""

import os
from collections.abc import Iterable
from pathlib import Path


def read_lines(path: Path) -> list[str]:
    """All but a last one without an end, which a killed writer leaves; none where there is no
    file.
    """
    if not path.exists():
        return []
    return path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]


def append_lines(path: Path, lines: Iterable[str]) -> None:
    """In one write, and on disk when this returns."""
    text = "".join(f"{line}\n" for line in lines)
    _drop_torn_line(path)
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _drop_torn_line(path: Path) -> None:
    """Appended to, it would spoil the next line too."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        file.truncate(file.read().rfind(b"\n") + 1)
