"""Files of learners and agents: an archive of arrays with a header of JSON, whole or not there.

A file is written beside its place, synced and renamed. The header has a `version`; what else it
holds is told where the format is: `tabular.learner` and `agents.agent`.
"""

from __future__ import annotations

import json
import os
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
        except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise self.error(
                f"{path} holds no saved {self.what}, or a damaged one: {self.remedy}"
            ) from error
        version = header.get("version") if isinstance(header, dict) else None
        if version != self.version:
            raise self.error(
                f"{path} has version {version!r}, and this release reads version {self.version}: "
                "load it with the release that wrote it."
            )
        return header, arrays

    @contextmanager
    def restoring(self, path: Path) -> Iterator[None]:
        """Turn what fails while the contents are put to use into one sentence."""
        try:
            yield
        except (KeyError, TypeError, ValueError, ImplsError) as error:
            raise self.error(f"{path} contradicts itself ({error}): {self.remedy}") from error


def contents(path: Path) -> tuple[Header, Arrays]:
    """Return the header and the arrays of an archive, whatever it holds."""
    # Opened here: NumPy leaves a damaged archive's file open.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
        return json.loads(arrays.pop("header").tobytes()), arrays


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
    """Open the file of that name, empty, and ours until it is closed."""
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
