"""The children of this process, and how much memory each has taken at most."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Self

import psutil

from pytest_rlperf.memory import watcher
from pytest_rlperf.memory.counters import (
    ended_children_peak,
    peak_bytes,
    reset_mark,
    resident_bytes,
)

UNSEEN = "a child too short-lived to be watched"

Peaks = list[tuple[str, int]]
"""Names and bytes of those that lived at the same time."""


class Children:
    """Watches children through a process of its own: this one may be busy in code that lets no
    other thread run.
    """

    def __enter__(self) -> Self:
        self._popen = subprocess.Popen(
            [sys.executable, "-I", "-S", watcher.__file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._ask({})  # until it is up
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._popen.kill()
        self._popen.communicate()

    def begin(self) -> int:
        """Set the marks of living children back, and forget what was noted until now; return the
        largest peak of those that have ended.
        """
        resident = {}
        for child in psutil.Process().children(recursive=True):
            if child.pid != self._popen.pid:
                reset_mark(child.pid)
                resident[child.pid] = resident_bytes(child.pid)
        self._ask(resident)
        return ended_children_peak()

    def peaks(self, ended_before: int) -> Peaks:
        """Return the peaks since `begin`: of those that were there before, what they took more."""
        (watched, largest), ended = self._ask({}), ended_children_peak()
        known = max(ended_before, peak_bytes(os.getpid()))
        return with_unseen(watched, largest, ended, known)

    def _ask(self, resident: Mapping[int, int]) -> tuple[Peaks, int]:
        """Begin anew; return the peaks until now, and the largest single one."""
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._popen.stdin.write(f"{json.dumps(resident)}\n")
        self._popen.stdin.flush()
        answer = json.loads(self._popen.stdout.readline())
        return [(name, size) for name, size in answer["peaks"]], answer["largest"]


def with_unseen(watched: Peaks, largest: int, ended: int, known: int) -> Peaks:
    """Add a peak between two looks, if there was one: `ended` is the kernel's mark of the largest
    child that has ended. Above the `largest` that was watched, and above what is `known` to be of
    others (see `ended_children_peak`), it tells of such a peak.
    """
    if ended <= max(known, largest):
        return watched
    return [*watched, (UNSEEN, ended - largest)]
