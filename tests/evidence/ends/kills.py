"""Processes that save, append and push all the time, killed at random moments.

What a process said was done has to be there, whole, and what it was at must not keep the next one
from doing the same. Half of the time the processes of git are killed with it: then a lock of git
may be left, which the next one names.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Never

from pytest_rlperf.baselines.file import read_module
from pytest_rlperf.baselines.folder import save_into
from pytest_rlperf.errors import RlperfError
from pytest_rlperf.history.branch import HistoryBranch
from pytest_rlperf.history.file import HistoryFile
from pytest_rlperf.trees import data_branch
from tests.evidence.ends.trial import Trial, left_in
from tests.factories import a_past, a_stored
from tests.trees.repositories import new_repository, run_git

LONGEST_S = {"save": 0.02, "append to a file": 0.02, "append": 0.4, "push": 0.8}
LOCK = re.compile(r"git's lock (\S+) is there")
EVERY = 50
"""Trials with the same repository: it grows, and each append reads all of it."""


class Kills:
    def __init__(self, folder: Path, rng: random.Random, only: Sequence[str]) -> None:
        self._rng = rng
        self._temporary = folder / "temporary"
        self._temporary.mkdir()
        os.environ["TMPDIR"] = tempfile.tempdir = str(self._temporary)
        data_branch.ATTEMPTS = 8
        self._folder, self._number, self._done = folder, 0, 0
        self._kinds = [kind for kind in LONGEST_S if not only or kind in only]

    def trial(self) -> Trial:
        if self._done % EVERY == 0:
            self._begin_anew()
        kind = self._kinds[self._done % len(self._kinds)]
        self._done += 1
        with_git = self._rng.random() < 0.5
        said = self._killed(kind, self._rng.uniform(0.0, LONGEST_S[kind]), with_git)
        outcome = "killed with git" if with_git and kind in ("append", "push") else "killed"
        trouble, locks = self._go_on(kind)
        outcome += ", git left a lock that is named" if locks else ""
        trouble += self._lost(kind, said)
        trouble += "".join(f" {name} is left;" for name in self._left())
        return Trial(kind, outcome, trouble)

    def _begin_anew(self) -> None:
        self._place = self._folder / str(self._done)
        self._known: dict[str, set[int]] = {kind: set() for kind in LONGEST_S}
        new_repository(self._place / "repository", {"lib.py": ""})
        run_git(self._place, "init", "--quiet", "--bare", "--initial-branch=main", "remote")
        run_git(self._place / "repository", "remote", "add", "origin", str(self._place / "remote"))
        shutil.rmtree(self._folder / str(self._done - EVERY), ignore_errors=True)

    def _work(self, kind: str) -> Callable[[int], object]:
        """Return what does piece `number` of the work."""
        baselines, repository = self._place / "baselines", self._place / "repository"
        history = HistoryFile(self._place / "history.jsonl")
        local = HistoryBranch(repository, "local")
        pushed = HistoryBranch(repository, remote="origin")
        return {
            "save": lambda n: save_into(baselines, [a_stored(f"test_a.py::{n}")]),
            "append to a file": lambda n: history.append([a_past(f"{n:040}")]),
            "append": lambda n: local.append([a_past(f"{n:040}")]),
            "push": lambda n: pushed.append([a_past(f"{n:040}")]),
        }[kind]

    def _killed(self, kind: str, seconds: float, with_git: bool) -> set[int]:
        """Let a process work and kill it; return the pieces that it said were done."""
        ours, theirs = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._work_for_ever(kind, theirs)
        os.setpgid(pid, pid)  # a group of its own, with the processes of git that it starts
        os.close(theirs)
        time.sleep(seconds)
        (os.killpg if with_git else os.kill)(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        with os.fdopen(ours) as pipe:
            said = {int(line) for line in pipe}
        self._number += 10_000
        return said

    def _work_for_ever(self, kind: str, pipe: int) -> Never:
        work = self._work(kind)
        while True:
            self._number += 1
            try:
                work(self._number)
            except BaseException as error:
                os.write(2, f"{kind}: {error}\n".encode())
                os._exit(1)
            os.write(pipe, f"{self._number}\n".encode())

    def _go_on(self, kind: str) -> tuple[str, int]:
        """Do the same as the process that was killed; remove the locks that this names."""
        locks = 0
        while True:
            self._number += 1
            try:
                self._work(kind)(self._number)
            except RlperfError as error:
                named = LOCK.search(str(error))
                if named is None or locks > 3:
                    return f" the next one said {error};", locks
                Path(named[1]).unlink()
                locks += 1
            else:
                self._known[kind].add(self._number)
                return "", locks

    def _lost(self, kind: str, said: set[int]) -> str:
        self._known[kind] |= said
        if kind == "save":
            stored = read_module(self._place / "baselines" / "test_a.json")
            lost = self._known[kind] - {int(nodeid.partition("::")[2]) for nodeid in stored}
            return f" lost {sorted(lost)};" if lost else ""
        past = {
            "append to a file": lambda: HistoryFile(self._place / "history.jsonl").read(),
            "append": lambda: HistoryBranch(self._place / "repository", "local").read(),
            "push": lambda: HistoryBranch(self._place / "remote").read(),
        }[kind]()
        there = {int(test.commit) for test in past.tests}
        troubles = "".join(f" {trouble};" for trouble in past.troubles)
        lost = self._known[kind] - there
        return troubles + (f" lost {sorted(lost)};" if lost else "")

    def _left(self) -> list[str]:
        parts = [str(path) for path in self._place.rglob("*.part")]
        locks = [str(path) for path in self._place.rglob("*.lock")]
        return [*left_in(self._temporary), *parts, *locks]
