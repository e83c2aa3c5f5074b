"""Where the history is: a branch of its own, or a file."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_rlperf.errors import UsageError
from pytest_rlperf.store.history_branch import NAME, HistoryBranch
from pytest_rlperf.store.history_file import HistoryFile


def add_place(parser: ArgumentParser, option: str, about: str) -> None:
    """`option` names the remote, and `about` what is done with it."""
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
