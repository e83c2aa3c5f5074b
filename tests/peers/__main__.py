"""``python -m tests.peers run`` measures us beside Stable-Baselines3, ``table`` prints it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from tests.peers.command import parser
from tests.peers.measured import Measured
from tests.peers.records import read
from tests.peers.rows import contestants
from tests.peers.run import run
from tests.peers.sizes import SIZES
from tests.peers.table import render

ROUNDS = 3


def main(argv: Sequence[str] | None = None) -> int:
    accepts = parser("python -m tests.peers", __doc__, contestants(), SIZES, ROUNDS)
    options = accepts.parse_args(argv)
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
