"""Memory that processes share and that has no name: nothing is left of it when the last one ends.

A named segment outlives a killed process. This one is a file that never had a name, handed on by
its descriptor, so the kernel frees it with the last process that holds it, however that ends.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from rl_impls.errors import MissingDependency

try:
    import fcntl
except ImportError as error:  # Windows
    raise MissingDependency(
        "the parallel runtime needs a POSIX system: train with the serial runtime here."
    ) from error


class NamelessMemory:
    """`size` bytes of zeros at first. Pickling hands it to a process that is being started."""

    def __init__(self, size: int, fd: int | None = None) -> None:
        self.size: Final = size
        self.fd: Final = _open(size) if fd is None else fd
        weakref.finalize(self, os.close, self.fd)
        self.buffer: Final = mmap.mmap(self.fd, size)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time. The kernel takes the lock back from a process that died."""
        fcntl.lockf(self.fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self.fd, fcntl.LOCK_UN)

    def __reduce__(self) -> tuple[Any, ...]:
        from multiprocessing.reduction import DupFd

        return _attached, (self.size, DupFd(self.fd))


def _attached(size: int, handed_on: Any) -> NamelessMemory:
    return NamelessMemory(size, handed_on.detach())


def _open(size: int) -> int:
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("rl_impls")
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, size)
    return fd
