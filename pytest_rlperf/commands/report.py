"""`rlperf report RESULT.json`: the report of a run that is over."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_rlperf.commands.history import add_place, place_of
from pytest_rlperf.errors import UsageError
from pytest_rlperf.gate.publishing import report_files
from pytest_rlperf.history.branch import NAME, history_of, history_on
from pytest_rlperf.history.records import History
from pytest_rlperf.report.result_file import ResultContent, read_run

FOLDER = Path("rlperf-report")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", type=Path, help="what --rlperf-json wrote")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, default=FOLDER, help=f"where (default: {FOLDER})"
    )
    add_place(parser, "--fetch", "fetch that branch from this remote first, such as origin")
    parser.set_defaults(branch=None)  # to tell a branch that was asked for from one that is tried


def run(arguments: Namespace) -> int:
    folder: Path = arguments.out
    measured, content = read_run(arguments.result)
    try:
        history = _history(arguments, content)
        folder.mkdir(parents=True, exist_ok=True)
        files = report_files(folder, measured, lambda: content, lambda: history)
        for path, write in files.items():
            write(path)
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written ({error.strerror}); name another folder with --out."
        ) from None
    print(folder / "report.html")
    return 0


def _history(arguments: Namespace, content: ResultContent) -> History | None:
    """Read the history; one that was asked for has to be there."""
    if arguments.branch is arguments.file is arguments.remote is None:
        return history_on(Path.cwd(), NAME, content)
    arguments.branch = arguments.branch or NAME
    return history_of(place_of(arguments).read(), content)
