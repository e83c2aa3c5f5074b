"""Flame graphs in the page: as pictures while there is room, and as links."""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.model.result import RunResult
from pytest_rlperf.report.terminal import worst_first

ROOM_BYTES = 1_000_000
"""For all graphs of a page together; of the rest there are links."""


@dataclass(frozen=True, slots=True)
class Flame:
    link: str
    picture: str | None  # as an address that holds its own data; None: there was no room


def load_flames(run: RunResult, folder: Path) -> Mapping[str, Flame]:
    """By node id, the worst test first; a graph that is no longer there is left out."""
    found: dict[str, Flame] = {}
    room = ROOM_BYTES
    for test in sorted(run.tests, key=worst_first):
        graph = test.explanation.graph if test.explanation else None
        if graph is None or not graph.is_file():
            continue
        content = graph.read_bytes()
        fits = len(content) <= room
        room -= len(content) if fits else 0
        # Slashes on Windows too: this is an address.
        link = Path(os.path.relpath(graph, folder)).as_posix()
        found[test.nodeid] = Flame(link, address_of(content, "svg+xml") if fits else None)
    return found


def address_of(content: bytes, kind: str) -> str:
    """Of a picture: it holds its own data."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
