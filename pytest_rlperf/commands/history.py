"""`rlperf history append RESULT`: keep a result of the main branch.

The history is on a branch of its own or in a file. `add_place` and `place_of` serve all commands
that read it.
"""

import datetime
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_rlperf.errors import RevisionError, UsageError
from pytest_rlperf.history.branch import NAME, HistoryBranch
from pytest_rlperf.history.file import HistoryFile, entries_of
from pytest_rlperf.report.result_file import read_result
from pytest_rlperf.report.text import render_tests
from pytest_rlperf.trees.git import SHORT, git


def add_place(parser: ArgumentParser, option: str, about: str) -> None:
    """Let the user name the place of the history; `option` names the remote, `about` its use."""
    places = parser.add_mutually_exclusive_group()
    places.add_argument(
        "--branch",
        default=NAME,
        metavar="NAME",
        help=f"the branch that holds the history (default: {NAME})",
    )
    places.add_argument("--file", type=Path, metavar="PATH", help="a file instead of a branch")
    parser.add_argument(option, dest="remote", metavar="REMOTE", help=about)


def place_of(arguments: Namespace) -> HistoryBranch | HistoryFile:
    if arguments.file is None:
        return HistoryBranch(Path.cwd(), arguments.branch, arguments.remote)
    if arguments.remote is not None:
        raise UsageError("--file has no remote; keep the history on a branch to push or fetch it.")
    return HistoryFile(arguments.file)


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
    added, commit = render_tests(kept.added), tests[0].commit[:SHORT]
    print(f"appended {added} of {commit} to {kept.where}{there}")
    return 0


def _committed(commit: object) -> str | None:
    """Return the date of the commit, where the repository is at hand."""
    if not isinstance(commit, str) or not commit:
        return None
    wanted = ("--format=%cI", "--end-of-options", commit, "--")
    try:
        date = git(Path.cwd(), "log", "-1", *wanted).strip()
    except RevisionError:
        return None
    return datetime.datetime.fromisoformat(date).astimezone(datetime.UTC).isoformat()
