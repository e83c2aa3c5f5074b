"""The history on a branch of its own, so that the branches with code stay clean.

A file for each month, so that an append writes little: history/2030-01.jsonl. A report asks here
what the history says of the tests of its run.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.errors import RlperfError, UsageError
from pytest_rlperf.files import ASIDE, joined, split_lines
from pytest_rlperf.history import DATA_BRANCH
from pytest_rlperf.history.file import Kept, Past, entries_of, line_of, read_history
from pytest_rlperf.history.records import History, PastTest
from pytest_rlperf.history.trend import flakiest, trends
from pytest_rlperf.report.result_file import ResultContent
from pytest_rlperf.report.text import render_tests
from pytest_rlperf.trees.data_branch import DataBranch, Files
from pytest_rlperf.trees.git import SHORT

NAME = DATA_BRANCH
FOLDER = "history"
ENDING = ".jsonl"
REMOTE = "origin"
"""Where a clone that has no such branch of its own looks for it."""
MERGED = "Bring two histories together"
MONTH = len("2030-01")


@dataclass(slots=True)
class _Append:
    """Adds lines to files, anew for each attempt; it also tells what the last one did."""

    lines: dict[str, list[str]]
    added: int = 0
    aside: str | None = None

    def __call__(self, old: Files) -> Files:
        self.added, self.aside = 0, None
        written: dict[str, bytes] = {}
        for path, lines in self.lines.items():
            there = split_lines(old.get(path, b""))
            known = set(there.whole)
            new = [line for line in lines if line not in known]
            if there.torn:
                self.aside = path + ASIDE
                written[self.aside] = old.get(self.aside, b"") + there.torn + b"\n"
            if new or there.torn:
                written[path] = joined((*there.whole, *new)).encode()
            self.added += len(new)
        return written


@dataclass(frozen=True, slots=True)
class HistoryBranch:
    """The history on the branch `name`."""

    repository: Path
    name: str = NAME
    remote: str | None = None  # to push to, and to read from first

    def append(self, tests: Sequence[PastTest]) -> Kept:
        """Write lines that are not there yet; those that are, are pushed if they were not."""
        branch = self._branch()
        branch.check_writable()
        by_file: dict[str, list[str]] = {}
        for test in tests:
            path = f"{FOLDER}/{test.created[:MONTH]}{ENDING}"
            by_file.setdefault(path, []).append(line_of(test))
        change = _Append(by_file)
        if self.remote is not None:
            branch.pull(self.remote, _union, MERGED)
        branch.update(change, f"Append {render_tests(len(tests))} of {tests[0].commit[:SHORT]}")
        where = f"the branch {self.name}"
        if self.remote is not None:
            branch.push(self.remote, _union, MERGED)
            where += f", pushed to {self.remote}"
        aside = None if change.aside is None else f"{change.aside} of {where}"
        return Kept(change.added, where, aside)

    def read(self) -> Past:
        branch = self._branch()
        if self.remote is not None:
            branch.fetch(self.remote)
        known = (branch.ref, branch.tracked(self.remote or REMOTE))
        files: Files = {}
        for revision in filter(branch.has, known):
            files = _union(files, branch.read(revision))
        if not files:
            raise UsageError(
                f"there is no history on the branch {self.name!r}; write it with rlperf history "
                f"append RESULT.json, or fetch it: git fetch {REMOTE} {self.name}:{self.name}."
            )
        parts = [
            read_history(f"{self.name}:{path}", lines.whole, lines.torn)
            for path, lines in ((path, split_lines(files[path])) for path in sorted(files))
            if path.endswith(ENDING)
        ]
        return Past(
            tuple(test for part in parts for test in part.tests),
            tuple(trouble for part in parts for trouble in part.troubles),
        )

    def _branch(self) -> DataBranch:
        return DataBranch.checked(self.repository, self.name, FOLDER)


def _union(first: Files, second: Files) -> Files:
    """Keep the lines of both, once, in the order of the first."""
    merged = dict(first)
    for path, content in second.items():
        if path not in merged:
            merged[path] = content
            continue
        mine, theirs = split_lines(merged[path]), split_lines(content)
        whole = dict.fromkeys((*mine.whole, *theirs.whole))
        torn = mine.torn or theirs.torn
        merged[path] = joined(whole).encode() + torn
        if theirs.torn not in (b"", torn):  # a file has one end
            merged[path + ASIDE] = merged.get(path + ASIDE, b"") + theirs.torn + b"\n"
    return merged


# -- for the report of a run --------------------------------------------------------------------

FLAKIEST = 5


def history_on(root: Path, branch: str, result: ResultContent) -> History | None:
    """Read the branch for a report; None: there is no such branch, or no repository at all."""
    try:
        past = HistoryBranch(root, branch).read()
    except RlperfError:  # who never appended anything needs no word of it
        return None
    return history_of(past, result)


def history_of(past: Past, result: ResultContent) -> History:
    """Say what the past says of the tests of this run."""
    nodeids = {test["nodeid"] for test in result["tests"]}
    tests = [test for test in (*past.tests, *_newest(past.tests, result)) if test.nodeid in nodeids]
    with warnings.catch_warnings():  # libraries load here, and pytest may take theirs for errors
        warnings.simplefilter("ignore")
        return History(trends(tests), flakiest(tests, FLAKIEST), past.troubles)


def _newest(past: Sequence[PastTest], result: ResultContent) -> list[PastTest]:
    """Take the run as the last point, where it is of the kind and the machine of the history: a
    pull request is no part of it, and another machine would leave all the others out.
    """
    if not past or result["mode"] == "against":
        return []
    try:
        entries = entries_of(result, "the result", committed=None)
    except UsageError:  # it belongs to no commit
        return []
    known = {(test.nodeid, test.commit, test.created) for test in past}
    newest = past[-1]
    return [
        test
        for test in entries
        if (test.machine, test.python) == (newest.machine, newest.python)
        and (test.nodeid, test.commit, test.created) not in known
    ]
