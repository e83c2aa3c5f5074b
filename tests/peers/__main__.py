"""``python -m tests.peers run`` measures us beside Stable-Baselines3, ``table`` prints it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.peers.measured import Measured
from tests.peers.records import read
from tests.peers.rows import contestants
from tests.peers.run import run
from tests.peers.sizes import SIZES
from tests.peers.table import render

ROUNDS = 3


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    commands = root.add_subparsers(dest="command", required=True)
    whole = commands.add_parser("run", help="everybody, round by round")
    whole.add_argument("--out", type=Path, required=True, help="JSON-lines file to append to")
    whole.add_argument("--rounds", type=int, default=ROUNDS)
    whole.add_argument("--only", action="append", default=[], choices=contestants())
    side = commands.add_parser("side", help="one contestant once, as a run starts it")
    side.add_argument("name", choices=contestants())
    side.add_argument("--seed", type=int, default=0)
    for command in (whole, side):
        command.add_argument("--sizes", choices=list(SIZES), default="full")
    table = commands.add_parser("table", help="print the table as markdown")
    table.add_argument("file", type=Path)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    if options.command == "table":
        print(render(read(options.file)), end="")
    elif options.command == "side":
        measured = measure(options.name, options.sizes, options.seed)
        print(json.dumps(asdict(measured)))
    else:
        run(options.out, options.rounds, options.sizes, options.only)
        print(render(read(options.out)), end="")
    return 0


def measure(name: str, sizes: str, seed: int) -> Measured:
    # Imported here: only their side needs torch, and a table needs neither.
    if name.startswith("sb3 "):
        from tests.peers import theirs

        return theirs.measure(name, SIZES[sizes], seed)
    from tests.peers import ours

    return ours.measure(name, SIZES[sizes], seed)


if __name__ == "__main__":
    raise SystemExit(main())
