"""The `rlperf` command: finds the module of the command that was asked for, and runs it."""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import NoReturn

from pytest_rlperf.commands import COMMANDS, exits_text, load
from pytest_rlperf.errors import ExitCode, RlperfError
from pytest_rlperf.leaving import Interrupts
from pytest_rlperf.report.text import harmless_output


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(ExitCode.USAGE, f"{self.format_usage()}{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    with harmless_output():
        arguments = _parser(words).parse_args(words)
        try:
            with Interrupts():
                status: int = arguments.run(arguments)
        except RlperfError as error:
            print(f"rlperf: {error}", file=sys.stderr)
            return ExitCode.USAGE
        except KeyboardInterrupt:
            print("rlperf: interrupted.", file=sys.stderr)
            return ExitCode.INTERRUPTED
        return status


def _parser(words: Sequence[str]) -> ArgumentParser:
    parser = _Parser(prog="rlperf", description="Companion of `pytest --rlperf`.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    chosen = next((word for word in words if not word.startswith("-")), None)
    for name, text in COMMANDS.items():
        added = commands.add_parser(name, help=text, description=text, epilog=exits_text(name))
        if name == chosen:
            command = load(name)
            command.add_arguments(added)
            added.set_defaults(run=command.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
