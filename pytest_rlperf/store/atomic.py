"""Files that are whole or not there: written beside, synced, renamed.

A writer that is killed leaves its half-written file beside the target. It had that file locked, and
the kernel drops the lock with the process: so the next writer can tell what is abandoned from what
another process is writing right now, and removes it.
"""

import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_rlperf.store.locking import LOCKS, try_lock

ENDING = ".part"


def write_atomically(path: Path, content: str | bytes) -> None:
    """Whoever reads `path`, even after a crash, finds the old content or the new one."""
    _drop_abandoned(path)
    with _beside(path) as part:
        with part.open("wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A new file in the same folder, ours as long as this context lasts."""
    part, lock = _claim(path)
    try:
        yield part
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)


def _claim(path: Path) -> tuple[Path, int | None]:
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{ENDING}")
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if not LOCKS:  # pragma: no cover - Windows, where an open file cannot be renamed
            os.close(handle)
            return part, None
        try:
            ours = try_lock(handle) and part.exists()
        except OSError:  # no locks on this file system: nobody will take it for abandoned either
            ours = True
        if ours:
            return part, handle
        os.close(handle)  # another writer took it for abandoned before it was locked


def _drop_abandoned(path: Path) -> None:
    """Best effort: somebody else's leftover must not keep anybody from writing."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.*{ENDING}"):
        with suppress(OSError):
            handle = os.open(part, os.O_RDWR)
            try:
                if try_lock(handle):
                    part.unlink()
            finally:
                os.close(handle)
