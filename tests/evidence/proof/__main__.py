"""``python -m tests.evidence.proof run`` measures the gate under load, ``table`` prints rates."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from . import cross, readings, sessions
from .cases import CASES, by_name
from .children import LoadEndedError
from .records import read
from .run import Plan, run
from .table import render


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="python -m tests.evidence.proof", description=__doc__)
    commands = root.add_subparsers(dest="command", required=True)
    measure = commands.add_parser("run", help="measure; started again, it goes on")
    measure.add_argument("--out", type=Path, required=True, help="JSON-lines file to append to")
    names = [case.name for case in CASES]
    measure.add_argument("--case", action="append", choices=names, help="may repeat; default: all")
    measure.add_argument("--minutes", type=float, help="start no suite after this time")
    measure.add_argument("--no-load", action="store_true", help="leave the machine as it is")
    stored = commands.add_parser("sessions", help="measure stored baselines; it goes on, too")
    stored.add_argument("--out", type=Path, required=True, help="JSON-lines file to append to")
    stored.add_argument("--number", type=int, default=1, help="so many more")
    cross_table = commands.add_parser("cross", help="print the table of stored baselines")
    cross_table.add_argument("file", type=Path)
    table = commands.add_parser("table", help="print the table as markdown")
    table.add_argument("file", type=Path)
    table.add_argument("--short", action="store_true", help="a line a case")
    read_table = commands.add_parser("readings", help="print what was read of known changes")
    read_table.add_argument("file", type=Path)
    return root


def leave(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(143)


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    try:
        if options.command == "table":
            records = read(options.file)
            print(render(records, options.file.name, short=options.short), end="")
            return 0
        if options.command == "readings":
            print(readings.render(read(options.file)), end="")
            return 0
        if options.command == "cross":
            print(cross.render(sessions.read(options.file)), end="")
            return 0
        # Left by an exception, so that suite and load are ended on the way out.
        signal.signal(signal.SIGTERM, leave)
        if options.command == "sessions":
            sessions.run(options.out, options.number)
            return 0
        cases = tuple(by_name(name) for name in options.case) if options.case else CASES
        return run(Plan(options.out, cases, options.minutes, load=not options.no_load))
    except KeyboardInterrupt:
        return 130
    except (LoadEndedError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
