"""Files of learners and agents: an archive of arrays with a header of JSON, whole or not there.

A file is written beside its place, synced and renamed. The header has a `version`; what else it
holds is told where the format is: `tabular.learner` and `agents.agent`.
"""

from __future__ import annotations

import json
import math
import os
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from rl_impls.errors import ImplsError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NOT_BY_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
Arrays = dict[str, NDArray[Any]]
Header = dict[str, Any]  # as JSON holds it


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of archive: what it holds, and what is said where one cannot be written or read."""

    what: str
    version: int
    error: type[ImplsError]
    unwritten: str  # what to do where it cannot be written
    remedy: str  # what to do where it cannot be read

    def write(self, path: Path, header: Header, arrays: Arrays) -> None:
        """Write the arrays and the header, with the version in front."""
        text = json.dumps({"version": self.version, **header}).encode()
        everything: dict[str, Any] = {"header": np.frombuffer(text, np.uint8), **arrays}
        try:
            with whole_file(path) as file:
                np.savez(file, **everything)
        except OSError as error:
            raise self.error(
                f"the {self.what} cannot be written to {path} ({error.strerror}){self.unwritten}"
            ) from error

    def read(self, path: Path) -> tuple[Header, Arrays]:
        """Return the header and the arrays of a file of this version."""
        try:
            header, arrays = contents(path)
        except FileNotFoundError as error:
            raise self.error(f"there is no saved {self.what} at {path}: save one first.") from error
        except (OSError, ValueError) as error:
            raise self.error(
                f"{path} holds no saved {self.what}, or a damaged one: {self.remedy}"
            ) from error
        version = header.get("version")
        if type(version) is not int or version != self.version:
            raise self.error(
                f"{path} has version {repr(version)[:20]}, and this release reads version "
                f"{self.version}: load it with the release that wrote it."
            )
        return header, arrays

    @contextmanager
    def restoring(self, path: Path) -> Iterator[None]:
        """Turn what fails while the contents are put to use into one sentence."""
        try:
            yield
        except MISFITS as error:
            raise self.error(f"{path} contradicts itself ({error}): {self.remedy}") from error


MISFITS = (
    ArithmeticError,
    AttributeError,
    ImplsError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
)
"""What is raised where an agent is made of what does not fit together."""


def contents(path: Path) -> tuple[Header, Arrays]:
    """Return the header and the arrays of an archive; ValueError: it is none, or a damaged one."""
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            arrays = {
                member.filename.removesuffix(".npy"): _array(archive, member)
                for member in archive.infolist()
            }
        header = json.loads(arrays.pop("header").tobytes(), parse_int=_whole)
    except OSError:
        raise
    except Exception as error:  # NumPy and zipfile raise whatever their parsers stumble upon
        raise ValueError(f"it is no archive of arrays ({error})") from error
    if not isinstance(header, dict):
        raise ValueError("its header is none")
    return header, arrays


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Read an array that takes as much of the file as it declares: no more is made room for."""
    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{member.filename} is compressed")
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise ValueError(f"{member.filename} has the format {version}")
        shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
        size = math.prod(shape) * dtype.itemsize
        if dtype.hasobject or min(shape, default=0) < 0 or size != member.file_size - file.tell():
            raise ValueError(f"{member.filename} is not what it declares")
        data = np.frombuffer(bytearray(file.read()), dtype)
    return data.reshape(shape, order="F" if by_columns else "C")


def _whole(text: str) -> int:
    number = int(text)
    if not -(2**64) < number < 2**64:
        raise ValueError("a number of its header has too many digits")
    return number


def counted(header: Header, *names: str) -> list[int]:
    """Return whole numbers of a header that cannot be below 0."""
    numbers = [header[name] for name in names]
    for name, number in zip(names, numbers, strict=True):
        if type(number) is not int or not 0 <= number < 2**63:
            raise ValueError(f"{name} is {str(number)[:40]}")
    return numbers


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Let whoever reads `path` find the old file, or the new one once the block is left.

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
    """Open the file of that name, empty, and ours until it is closed. What others have laid there
    is removed: a link would lead what is written elsewhere.
    """
    while True:
        try:
            handle = os.open(part, os.O_RDWR | os.O_CREAT | NOT_BY_LINK, 0o666)
        except OSError:
            if not part.is_symlink():
                raise
            part.unlink(missing_ok=True)
            continue
        if not _is_own(handle):
            os.close(handle)
            part.unlink(missing_ok=True)
            continue
        file = os.fdopen(handle, "w+b")
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
        if _is_at(file, part):
            file.truncate()
            return file
        file.close()  # another writer was done while we waited, and renamed it


def _is_own(handle: int) -> bool:
    """Return whether it is a plain file of ours, and has no other name."""
    about = os.fstat(handle)
    own = not hasattr(os, "geteuid") or about.st_uid == os.geteuid()
    return own and stat.S_ISREG(about.st_mode) and about.st_nlink <= 1


def _is_at(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
