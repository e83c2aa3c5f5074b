"""`rlperf mcp`: tools for assistants, by the Model Context Protocol over stdin and stdout."""

import sys
from argparse import ArgumentParser, Namespace
from contextlib import redirect_stdout
from pathlib import Path

from pytest_rlperf.errors import UsageError


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--project",
        metavar="DIR",
        type=Path,
        default=Path(),
        help="the folder that pytest is to run in (default: this one)",
    )


def run(arguments: Namespace) -> int:
    project = arguments.project.resolve()
    if not project.is_dir():
        raise UsageError(f"--project={arguments.project} is no folder; name the project's.")
    try:
        from pytest_rlperf.assistant.server import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise UsageError("rlperf mcp needs the SDK: pip install 'pytest-rlperf[mcp]'.") from None
    # The protocol is written by bytes, and escapes what acts on its reader itself.
    with redirect_stdout(sys.__stdout__):
        make_server(project).run("stdio")
    return 0
