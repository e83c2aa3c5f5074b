"""A file that is whole or not there: written beside, synced, renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Whoever reads `path` finds the old file, or the new one once the block is left.

    What is being written has always the same name, so that the next writer overwrites what a killed
    one left. Who writes to the same path meanwhile waits.
    """
    part = path.with_name(f".{path.name}.part")
    with _claimed(part) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _claimed(part: Path) -> BinaryIO:
    """The file of that name, empty, and ours until it is closed."""
    while True:
        file = os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT, 0o666), "w+b")
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
        if _is_at(file, part):
            file.truncate()
            return file
        file.close()  # another writer was done while we waited, and renamed it


def _is_at(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
