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
    commit = result.get("commit")
    tests = entries_of(result, str(arguments.result), _committed(commit) if commit else None)
    kept = place_of(arguments).append(tests)
    if kept.torn is not None:
        print(
            "rlperf: the history ended in a line that was cut off; it was put aside in "
            f"{kept.torn}.",
            file=sys.stderr,
        )
    known = len(tests) - kept.added
    there = f"; {known} were there already" if known else ""
    print(f"appended {kept.added} tests of {tests[0].commit[:SHORT]} to {kept.where}{there}")
    return 0


def _committed(commit: str) -> str | None:
    """The date of the commit, where the repository is at hand."""
    try:
        told = git(Path.cwd(), "show", "--no-patch", "--format=%cI", commit, "--").strip()
    except RevisionError:
        return None
    return datetime.datetime.fromisoformat(told).astimezone(datetime.UTC).isoformat()
