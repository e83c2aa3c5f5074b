"""`python -m rl_impls`: train an agent, evaluate it, list what there is, or compare tables."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Final, NoReturn

from rl_impls.commands import compare, evaluate, list_known, train
from rl_impls.errors import ImplsError, SettingError, SpaceError

FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130
COMMANDS: Final = (train, evaluate, list_known, compare)


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Print one line, which says what to do, instead of the whole usage."""
        self.exit(USAGE, f"{self.prog}: {message}\n")


def parser() -> ArgumentParser:
    whole = _Parser(prog="python -m rl_impls", description="Reinforcement learning.")
    commands = whole.add_subparsers(
        title="commands", required=True, metavar="|".join(each.NAME for each in COMMANDS)
    )
    for command in COMMANDS:
        added = commands.add_parser(
            command.NAME, help=command.HELP, description=command.HELP, allow_abbrev=False
        )
        command.add_arguments(added)
        added.set_defaults(run=command.run)
    return whole


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
    except (SettingError, SpaceError) as error:
        return _say(error, USAGE)
    except ImplsError as error:
        return _say(error, FAILED)
    except KeyboardInterrupt:
        return _say("interrupted.", INTERRUPTED)
    except BrokenPipeError:  # nobody reads stdout any more, as behind `| head`
        # Python writes what is left when it ends, and would complain once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return status


def _say(what: object, status: int) -> int:
    print(f"rl_impls: {what}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
