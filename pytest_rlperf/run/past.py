"""What the history says of the tests of a run, for its report."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_rlperf.errors import RlperfError, UsageError
from pytest_rlperf.judge.flaky import flakiest
from pytest_rlperf.judge.trend import trends
from pytest_rlperf.model.history import PastTest
from pytest_rlperf.model.trend import History
from pytest_rlperf.store.history_branch import HistoryBranch
from pytest_rlperf.store.history_entries import entries_of
from pytest_rlperf.store.history_line import Past

FLAKIEST = 5

Result = Mapping[str, Any]
"""As `--rlperf-json` has it."""


def history_on(root: Path, branch: str, result: Result) -> History | None:
    """None: this repository has no such branch, or there is none at all."""
    try:
        past = HistoryBranch(root, branch).read()
    except RlperfError:  # who never appended anything needs no word of it
        return None
    return history_of(past, result)


def history_of(past: Past, result: Result) -> History:
    asked = {test["nodeid"] for test in result["tests"]}
    tests = [*past.tests, *_own(past.tests, result)]
    found = [test for test in tests if test.nodeid in asked]
    with warnings.catch_warnings():  # libraries load here, and pytest may take theirs for errors
        warnings.simplefilter("ignore")
        return History(trends(found), flakiest(found, FLAKIEST), past.troubles)


def _own(past: Sequence[PastTest], result: Result) -> list[PastTest]:
    """The run as the last point, where it is of the kind and the machine that the history is of: a
    pull request is no part of it, and another machine would leave all the others out.
    """
    if not past or result["mode"] == "against":
        return []
    try:
        found = entries_of(result, "the result", committed=None)
    except UsageError:  # it belongs to no commit
        return []
    known = {(test.nodeid, test.commit, test.created) for test in past}
    newest = past[-1]
    return [
        test
        for test in found
        if (test.machine, test.python) == (newest.machine, newest.python)
        and (test.nodeid, test.commit, test.created) not in known
    ]
