"""``python -m tests.evidence.why run`` asks the profiler for causes that are known, ``table``
prints its answers.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from .records import read
from .run import BUDGET_S, ROOT, SAME_PROFILES, run
from .table import render

FILE = ROOT / "docs" / "proof" / "why.jsonl"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evidence.why", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "table"):
        command = commands.add_parser(name)
        command.add_argument("--out", type=Path, default=FILE, help="JSON-lines file")
        if name == "run":
            command.add_argument("--same", type=int, default=SAME_PROFILES)
            command.add_argument("--only", action="append", default=[], help="may repeat")
            command.add_argument("--budget", type=float, default=BUDGET_S, help="of a verdict")
    options = parser.parse_args(argv)
    if options.command == "table":
        print(render(read(options.out)), end="")
    else:
        run(options.out, options.same, options.only, options.budget)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
