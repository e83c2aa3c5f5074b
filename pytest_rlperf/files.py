"""Files that are whole or not there, and files that grow by lines.

A file is written beside its place, synced and renamed. A writer that is killed leaves its
half-written file beside the target. It had that file locked, and the kernel drops the lock with the
process: so the next writer can tell what is abandoned from what another process is writing right
now, and removes it.
"""

import errno
import glob
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pytest_rlperf.errors import UsageError
from pytest_rlperf.reading import parse_json, refuse

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

ENDING = ".part"
NOT_BY_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""How to open a file of a name that others may have laid a link, or a pipe, under."""
SVG = re.compile(rb"\s*(<\?xml[^>]*>\s*)?<svg[\s/>]")


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write so that whoever reads `path`, even after a crash, finds the old content or the new."""
    _drop_abandoned(path)
    with _beside(path) as part:
        with part.open("wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)


def write_for_user(path: Path, content: str | bytes) -> None:
    """Write a file that the user named, or say in one sentence why it cannot be."""
    try:
        write_atomically(path, content)
    except OSError as error:
        refuse(path, f"cannot be written ({error.strerror})", "name another file")


def private_folder(folder: Path) -> None:
    """Make a folder, with those above that are missing, that nobody else may look into."""
    for place in reversed((folder, *folder.parents)):
        if not place.exists():  # macOS says of one that is there that it is a folder
            with suppress(FileExistsError):
                place.mkdir(mode=0o700)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))


def file_stem(nodeid: str) -> str:
    """Return a name for the files of a test, which any file system takes."""
    return re.sub(r"[^A-Za-z0-9]+", "-", nodeid).strip("-")


def inside(folder: Path, name: str) -> Path | None:
    """Return the plain file that a file of `folder` names, if it lies below it: not by a link, nor
    by way of one. None: it does not.
    """
    path = folder / name
    try:
        own = path.parent.resolve(strict=True).is_relative_to(folder.resolve(strict=True))
        return path if own and not path.is_symlink() and path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # no such name, or links that go round
        return None


def read_plain(path: Path, most_bytes: int) -> bytes | None:
    """Return what a plain file holds; None: it is gone, larger than that, a link or a device."""
    try:
        handle = os.open(path, os.O_RDONLY | NOT_BY_LINK)
        with open(handle, "rb") as file:
            plain = stat.S_ISREG(os.fstat(handle).st_mode)
            content = file.read(most_bytes + 1) if plain else b""
    except (OSError, ValueError):
        return None
    return content if plain and len(content) <= most_bytes else None


def read_figure(path: Path, most_bytes: int) -> bytes | None:
    """Return the SVG in a plain file; None: it is gone, larger than that, or something else."""
    content = read_plain(path, most_bytes)
    return content if content is not None and SVG.match(content) else None


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Make a new file in the same folder, ours as long as this context lasts."""
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
        try:
            handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except UnicodeEncodeError as error:  # half of a character: no file system has such a name
            raise OSError(errno.EILSEQ, os.strerror(errno.EILSEQ), str(path)) from error
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
    """Remove what can be: somebody else's leftover must not keep anybody from writing."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.*{ENDING}"):
        with suppress(OSError):
            handle = os.open(part, os.O_RDWR | NOT_BY_LINK)
            try:
                if try_lock(handle):
                    part.unlink()
            finally:
                os.close(handle)


# -- files that grow line by line ---------------------------------------------------------------
#
# A line is a JSON object, and it is whole or it is not there. A writer that is killed in the middle
# leaves a torn last line. The next one puts it aside, into a file beside, so that neither the lines
# before nor those to come are spoiled and nothing is lost. A last line that lacks nothing but its
# end is whole.

ASIDE = ".torn"


@dataclass(frozen=True, slots=True)
class JsonLines:
    """The lines that a file holds."""

    whole: tuple[str, ...]
    torn: bytes = b""  # the beginning of a line; empty: there is none


@dataclass(frozen=True, slots=True)
class Appended:
    """The outcome of appending lines."""

    added: int
    aside: Path | None = None  # where a torn line was put; None: there was none


def split_lines(content: bytes) -> JsonLines:
    text, newline, last = content.rpartition(b"\n")
    lines = text.split(b"\n") if newline else []
    torn = bool(last) and not _is_whole(last)
    if last and not torn:
        lines.append(last)
    whole = tuple(line.decode("utf-8", errors="replace") for line in lines)
    return JsonLines(whole, last if torn else b"")


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(parse_json(line), dict)
    except ValueError:
        return False


def joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def read_lines(path: Path) -> list[str]:
    """Read all lines but a torn last one; none where there is no file."""
    return list(split_lines(path.read_bytes()).whole) if path.exists() else []


def append_lines(path: Path, lines: Iterable[str], *, once: bool = False) -> Appended:
    """Append in one write, on disk when this returns, and one writer at a time; `once`: only those
    that are not there yet.
    """
    with path.open("ab+") as file:
        if not wait_for_lock(file.fileno()):
            raise UsageError(f"another process is writing {path}; wait for it, and append again.")
        file.seek(0)
        content = file.read()
        there = split_lines(content)
        aside = _put_aside(path, file, content, there.torn)
        known = set(there.whole) if once else set()
        new = [line for line in lines if line not in known]
        unended = bool(content) and not there.torn and not content.endswith(b"\n")
        _write(file, ("\n" if unended else "") + joined(new))
    return Appended(len(new), aside)


def _put_aside(path: Path, file: IO[bytes], content: bytes, torn: bytes) -> Path | None:
    if not torn:
        return None
    aside = path.with_name(path.name + ASIDE)
    handle = os.open(aside, os.O_WRONLY | os.O_APPEND | os.O_CREAT | NOT_BY_LINK, 0o666)
    with open(handle, "ab") as kept:
        _write(kept, torn.decode("utf-8", errors="replace") + "\n")
    file.truncate(len(content) - len(torn))
    return aside


def _write(file: IO[bytes], text: str) -> None:
    file.write(text.encode())
    file.flush()
    os.fsync(file.fileno())


# -- locks on open files, which the kernel drops with the process that holds them --------------

LOCKS = fcntl is not None
"""Whether this system has them."""
LOCK_WAIT_S = 30.0
"""Time for other writers: each takes milliseconds, or a second where the machine has no time for
it, and what it took minutes to measure would be lost."""
LOCK_POLL_S = 0.05


def try_lock(handle: int) -> bool:
    """Lock the file; False where another process holds it."""
    if fcntl is None:  # pragma: no cover - Windows
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(handle: int) -> bool:
    """Lock the file; False: another process holds it still. Without locks nobody is waited for."""
    until = time.monotonic() + LOCK_WAIT_S
    while LOCKS and not try_lock(handle):
        if time.monotonic() > until:
            return False
        time.sleep(LOCK_POLL_S)
    return True
