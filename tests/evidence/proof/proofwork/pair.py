"""Work shared by two processes: both compute in every call, and meet at its end."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection

from .work import make


class Pair:
    """A caller and one lasting child; a call ends when both have done their share."""

    def __init__(self, name: str) -> None:
        # Forking keeps the child's start short, and free of whatever started the parent.
        context = multiprocessing.get_context("fork")
        self._here, there = context.Pipe()
        self._child = context.Process(target=_serve, args=(name, self._here, there), daemon=True)
        self._child.start()
        there.close()
        self._work = make(name)

    def __call__(self) -> float:
        self._here.send(None)
        own = self._work()
        return own + float(self._here.recv())

    def close(self) -> None:
        self._here.close()
        self._child.join()


def _serve(name: str, parent_end: Connection, own_end: Connection) -> None:
    # Holding the parent's end would hide its death: recv() would never see the end of file.
    parent_end.close()
    work = make(name)
    while True:
        try:
            own_end.recv()
            own_end.send(work())
        except (EOFError, OSError):
            return
