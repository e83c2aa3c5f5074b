"""``python -m tests.evidence.learning run`` trains every deep agent, ``table`` prints returns."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tests.evidence.learning.goals import GOALS
from tests.evidence.learning.records import read
from tests.evidence.learning.run import run
from tests.evidence.learning.table import newest, render


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="python -m tests.evidence.learning", description=__doc__)
    commands = root.add_subparsers(dest="command", required=True)
    train = commands.add_parser("run", help="train; started again, it goes on")
    train.add_argument("--out", type=Path, required=True, help="JSON-lines file to append to")
    train.add_argument("--only", action="append", default=[], metavar="AGENT", help="may repeat")
    train.add_argument("--minutes", type=float, help="start no training after this time")
    table = commands.add_parser("table", help="print the table as markdown")
    table.add_argument("file", type=Path)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    if options.command == "table":
        print(render(read(options.file)), end="")
        return 0
    run(options.out, options.only, options.minutes)
    records = read(options.out)
    print(render(records), end="")
    trained = [record for goal in GOALS for record in newest(goal, records)]
    return 0 if all(record.reached for record in trained) else 1


if __name__ == "__main__":
    raise SystemExit(main())
