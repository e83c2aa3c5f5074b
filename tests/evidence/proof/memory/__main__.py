"""``python -m tests.evidence.proof.memory run`` measures, ``table`` prints the verdicts."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pytest_rlperf.files import append_lines, read_lines

from ..__main__ import leave
from .suite import EXPECTED, GROWN, SAME, run
from .table import Record, of_case, render

WANTED_SAME = 300
WANTED_GROWN = 20
"""Verdicts on unchanged tests, and suites in which each has grown."""


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(
        prog="python -m tests.evidence.proof.memory", description=__doc__
    )
    commands = root.add_subparsers(dest="command", required=True)
    measure = commands.add_parser("run", help="measure; started again, it goes on")
    measure.add_argument("--out", type=Path, required=True, help="JSON-lines file to append to")
    measure.add_argument("--minutes", type=float, help="start no suite after this time")
    table = commands.add_parser("table", help="print the table as markdown")
    table.add_argument("file", type=Path)
    return root


def read(path: Path) -> list[Record]:
    return [json.loads(line) for line in read_lines(path)]


def next_case(records: Sequence[Record]) -> str | None:
    """The one that has less of its share; None: both have all."""
    same = len(of_case(records, SAME)) / WANTED_SAME
    grown = len({r["suite"] for r in of_case(records, GROWN)}) / WANTED_GROWN
    if min(same, grown) >= 1:
        return None
    return SAME if same <= grown else GROWN


def measure(path: Path, minutes: float | None) -> None:
    end = None if minutes is None else time.monotonic() + 60 * minutes
    records = read(path)
    while end is None or time.monotonic() < end:
        case = next_case(records)
        if case is None:
            return
        added = run(case)
        append_lines(path, [json.dumps(record, allow_nan=False) for record in added])
        records += added
        print(f"{case}: {said_of(case, added)}", flush=True)


def said_of(case: str, added: Sequence[Record]) -> str:
    if case == GROWN:
        added = [record for record in added if EXPECTED[record["test"]] == record["metric"]]
    outcomes = Counter(record["outcome"] for record in added)
    return ", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common())


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    if options.command == "table":
        print(render(read(options.file)), end="")
        return 0
    signal.signal(signal.SIGTERM, leave)  # by an exception, so that the suite is ended too
    try:
        measure(options.out, options.minutes)
    except KeyboardInterrupt:
        return 130
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
