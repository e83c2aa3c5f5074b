"""Shared memory that a process has mapped, segment by segment."""

import os
from collections.abc import Iterable
from pathlib import Path

import psutil

from pytest_rlperf.measure.memory.kernel import PROC

FOLDER = Path("/dev/shm")
KINDS = ("/dev/shm/", "/memfd:", "/SYSV", "/dev/zero")
"""How the kernel names them: POSIX, anonymous files, System V, and mmap without a file."""

Segments = dict[tuple[str, str], int]
"""Size in bytes by device with inode, and name."""


def mapped_segments() -> Segments:
    """Of this process and its descendants, each once."""
    found: Segments = {}
    pids = [child.pid for child in psutil.Process().children(recursive=True)]
    for pid in (os.getpid(), *pids):
        found |= parse_maps(_maps(pid))
    return found


def parse_maps(lines: Iterable[str]) -> Segments:
    found: Segments = {}
    for line in lines:
        span, rights, _, device, inode, *name = line.split(maxsplit=5)
        path = name[0].strip() if name else ""
        if rights[3] != "s" or not path.startswith(KINDS):
            continue
        first, last = (int(end, 16) for end in span.split("-"))
        key = (f"{device} {inode}", path.removesuffix(" (deleted)"))
        found[key] = found.get(key, 0) + last - first
    return found


def outliving(segments: Segments) -> list[str]:
    """Those with a name: they live on until somebody unlinks it."""
    paths = sorted(Path(name) for _, name in segments)
    return [path.name for path in paths if path.parent == FOLDER and path.exists()]


def _maps(pid: int) -> list[str]:
    try:
        return (PROC / str(pid) / "maps").read_text().splitlines()
    except OSError:  # gone
        return []
