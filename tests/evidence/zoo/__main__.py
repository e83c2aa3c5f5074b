"""``python -m tests.evidence.zoo run --out FILE`` tries the learning gate on known changes; started
again, it goes on. ``table FILE`` prints what it said, beside two rules of thumb.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.evidence.zoo.changes import Kind
from tests.evidence.zoo.run import read, run
from tests.evidence.zoo.table import render


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="python -m tests.evidence.zoo", description=__doc__)
    commands = root.add_subparsers(dest="command", required=True)
    measure = commands.add_parser("run", help="try the changes that are not recorded yet")
    measure.add_argument("--out", type=Path, required=True, help="JSON-lines file to append to")
    measure.add_argument("--kind", action="append", choices=list(Kind), help="may repeat")
    measure.add_argument("--minutes", type=float, default=1e6, help="begin none after this time")
    measure.add_argument("--scratch", type=Path, help="folder to go on in: what it has is kept")
    table = commands.add_parser("table", help="print the table as markdown")
    table.add_argument("file", type=Path)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    if options.command == "table":
        print(render(read(options.file)), end="")
        return 0
    with _folder(options.scratch) as scratch:
        kinds = options.kind or list(Kind)
        for record in run(options.out, kinds, options.minutes, scratch):
            print(
                f"{record.kind}, {record.name} ({record.gate}): {record.outcome}, "
                f"{record.seeds} seeds, {record.seconds:.0f} s: {record.said}",
                flush=True,
            )
    return 0


@contextmanager
def _folder(named: Path | None) -> Iterator[Path]:
    """Give a folder for the clone and its cache: one that stays, or one that goes."""
    if named is not None:
        named.mkdir(parents=True, exist_ok=True)
        yield named.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="zoo-") as scratch:
        yield Path(scratch)


if __name__ == "__main__":
    raise SystemExit(main())
