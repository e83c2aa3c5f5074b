"""``python -m tests.evidence.duet run --out FILE`` plays a command against itself, and against one
that has 10 % more to do, with `rlperf duet` and, where it is installed, with hyperfine; started
again, it goes on. ``table FILE`` prints how often either said slower or faster by more than 5 %,
and which way unchanged commands read; ``stops RUNS`` which way they would by chance alone.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from tests.evidence.duet.play import LENGTHS_MS, TRUTHS, lean, read, run, table
from tests.evidence.duet.stops import stops


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="python -m tests.evidence.duet", description=__doc__)
    commands = root.add_subparsers(dest="command", required=True)
    measure = commands.add_parser("run", help="play what is not recorded yet")
    measure.add_argument("--out", type=Path, required=True, help="JSON-lines file to append to")
    measure.add_argument("--rounds", type=int, default=100, help="of each comparison")
    measure.add_argument("--minutes", type=float, default=1e6, help="begin none after this time")
    measure.add_argument("--ms", type=int, action="append", choices=LENGTHS_MS, help="may repeat")
    measure.add_argument(
        "--unchanged", action="store_true", help="only commands against themselves"
    )
    measure.add_argument("--no-load", action="store_true", help="leave the machine alone")
    chance = commands.add_parser("stops", help="how unchanged commands read by chance alone")
    chance.add_argument("runs", type=int, help="of each spread")
    shown = commands.add_parser("table", help="print the table as markdown")
    shown.add_argument("file", type=Path)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    if options.command == "stops":
        print("\n".join(stops(options.runs)))
        return 0
    if options.command == "table":
        records = read(options.file)
        print(f"{table(records)}\n{lean(records)}", end="")
        return 0
    with tempfile.TemporaryDirectory(prefix="duet-") as scratch:
        loaded = not options.no_load
        truths = (0.0,) if options.unchanged else TRUTHS
        pairs = list(product(options.ms or LENGTHS_MS, truths))
        for each in run(options.out, options.rounds, options.minutes, loaded, Path(scratch), pairs):
            print(
                f"{each.tool}, {each.ms} ms, {each.truth:+.0%}: {each.outcome} "
                f"{each.change:+.1%}, {each.seconds:.1f} s",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
