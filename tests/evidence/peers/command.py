"""The command line of a run of contestants: everybody, one of them, or the table."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path


def parser(
    prog: str, description: str | None, names: Sequence[str], sizes: Iterable[str], rounds: int
) -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog=prog, description=description)
    commands = root.add_subparsers(dest="command", required=True)
    whole = commands.add_parser("run", help="everybody, round by round; goes on where it stopped")
    whole.add_argument("--out", type=Path, required=True, help="JSON-lines file to append to")
    whole.add_argument("--rounds", type=int, default=rounds)
    whole.add_argument("--only", action="append", default=[], choices=names)
    side = commands.add_parser("side", help="one contestant once, as a run starts it")
    side.add_argument("name", choices=names)
    side.add_argument("--seed", type=int, default=0)
    for command in (whole, side):
        command.add_argument("--sizes", choices=list(sizes), default="full")
    table = commands.add_parser("table", help="print the table as markdown")
    table.add_argument("file", type=Path)
    return root
