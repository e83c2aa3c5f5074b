"""`rlperf report RESULT.json`: the report of a run that is over."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_rlperf.errors import UsageError
from pytest_rlperf.report.folder import write_report
from pytest_rlperf.store.read_back.run import read_run

FOLDER = Path("rlperf-report")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", type=Path, help="what --rlperf-json wrote")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, default=FOLDER, help=f"where (default: {FOLDER})"
    )


def run(arguments: Namespace) -> int:
    folder: Path = arguments.out
    found, content = read_run(arguments.result)
    try:
        write_report(folder, found, content, notices=())
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written ({error.strerror}); name another folder with --out."
        ) from None
    print(folder / "report.html")
    return 0
