"""`rlperf history append RESULT`: keep a result of the main branch."""

import datetime
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_rlperf.commands.history.place import add_place, place_of
from pytest_rlperf.errors import RevisionError
from pytest_rlperf.launch.git import git
from pytest_rlperf.launch.revision import SHORT
from pytest_rlperf.store.history_entries import entries_of
from pytest_rlperf.store.result_file import read_result


def add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")
    text = "add the tests of a result, a line each"
    append = actions.add_parser("append", help=text, description=text)
    append.add_argument("result", metavar="RESULT", type=Path, help="what --rlperf-json wrote")
    add_place(append, "--push", "send the branch to this remote, such as origin")


def run(arguments: Namespace) -> int:
    result = read_result(arguments.result)
    tests = entries_of(result, str(arguments.result), _committed(result.get("commit")))
    kept = place_of(arguments).append(tests)
    if kept.torn is not None:
        print(
            "rlperf: the history ended in a line that was cut off; it was put aside in "
            f"{kept.torn}.",
            file=sys.stderr,
        )
    known = len(tests) - kept.added
    there = f"; {known} {'was' if known == 1 else 'were'} there already" if known else ""
    added = "1 test" if kept.added == 1 else f"{kept.added} tests"
    print(f"appended {added} of {tests[0].commit[:SHORT]} to {kept.where}{there}")
    return 0


def _committed(commit: object) -> str | None:
    """The date of the commit, where the repository is at hand."""
    if not isinstance(commit, str) or not commit:
        return None
    wanted = ("--format=%cI", "--end-of-options", commit, "--")
    try:
        told = git(Path.cwd(), "log", "-1", *wanted).strip()
    except RevisionError:
        return None
    return datetime.datetime.fromisoformat(told).astimezone(datetime.UTC).isoformat()
