"""A process beside the measured one that notes the high-water marks of its children.

Run by path, and started by `probe.Children`. Every line on its standard input says what was
resident before, by process id: it answers with what it noted since the line before, and begins
anew. It ends with the process that it watches, and imports next to nothing, to be up within
milliseconds.
"""

import json
import os
import select
import sys

INTERVAL_S = 0.002
"""A child that lives for less may be missed; see `probe.with_unseen`."""

Marks = dict[int, tuple[str, int]]
"""Name and high-water mark by process id."""


class ChildWatch:
    """Keeps the moment at which the children that lived had the largest marks together."""

    def __init__(self, before: dict[int, int]) -> None:
        self._before = before
        self._most = -1
        self._peaks: list[tuple[str, int]] = []
        self._largest = 0

    def take(self, marks: Marks) -> None:
        above = [(n, max(0, mark - self._before.get(p, 0))) for p, (n, mark) in marks.items()]
        total = sum(size for _, size in above)
        if total > self._most:
            self._most, self._peaks = total, above
        self._largest = max(self._largest, *(mark for _, mark in marks.values()), 0)

    def as_dict(self) -> dict[str, object]:
        return {"peaks": self._peaks, "largest": self._largest}


def watch(pid: int) -> None:
    """Look at the children of `pid` until it is gone, and answer its questions."""
    since = ChildWatch({})
    while os.getppid() == pid:
        ready, _, _ = select.select([sys.stdin], [], [], INTERVAL_S)
        since.take(look(pid))
        if not ready:
            continue
        line = sys.stdin.readline()
        if not line:
            return
        print(json.dumps(since.as_dict()), flush=True)
        since = ChildWatch({int(child): size for child, size in json.loads(line).items()})


def look(pid: int) -> Marks:
    """Return the marks of all descendants that live."""
    marks: Marks = {}
    for child in children(pid):
        mark = name_and_mark(child)
        if child != os.getpid() and mark is not None:
            marks[child] = mark
            marks.update(look(child))
    return marks


def children(pid: int) -> list[int]:
    pids = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                pids += [int(child) for child in file.read().split()]
    except OSError:  # gone, or a kernel that keeps no such list
        pass
    return pids


def name_and_mark(pid: int) -> tuple[str, int] | None:
    """Return the name and the mark of a process; None: it is over, and its memory with it."""
    fields = {}
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                name, _, value = line.partition(":")
                fields[name] = value
    except OSError:
        return None
    if "VmHWM" not in fields:
        return None
    return fields["Name"].strip(), int(fields["VmHWM"].split()[0]) * 1024


if __name__ == "__main__":
    watch(int(sys.argv[1]))
