"""`rlperf export`: a result in the format of another tool."""

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_rlperf.errors import UsageError
from pytest_rlperf.report.pytest_benchmark_json import as_pytest_benchmark
from pytest_rlperf.store.atomic import write_atomically
from pytest_rlperf.store.result_file import read_result

FORMATS = {"pytest-benchmark": as_pytest_benchmark}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", type=Path, help="what --rlperf-json wrote")
    parser.add_argument("--format", required=True, choices=FORMATS, help="whose to write")
    parser.add_argument(
        "--output", metavar="FILE", type=Path, help="where to write it (default: standard output)"
    )


def run(arguments: Namespace) -> int:
    made = FORMATS[arguments.format](read_result(arguments.result))
    text = json.dumps(made, indent=1, allow_nan=False) + "\n"
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        _write(arguments.output, text)
    return 0


def _write(path: Path, text: str) -> None:
    try:
        write_atomically(path, text)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({error.strerror}); name another file."
        ) from None
