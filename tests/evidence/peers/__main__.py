"""``python -m tests.evidence.peers run`` measures us and Stable-Baselines3, ``table`` prints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from tests.evidence.peers.command import parser
from tests.evidence.peers.measured import Measured
from tests.evidence.peers.records import read
from tests.evidence.peers.rows import contestants
from tests.evidence.peers.run import run
from tests.evidence.peers.sizes import SIZES
from tests.evidence.peers.table import render

ROUNDS = 3


def main(argv: Sequence[str] | None = None) -> int:
    accepts = parser("python -m tests.evidence.peers", __doc__, contestants(), SIZES, ROUNDS)
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
        from tests.evidence.peers import theirs

        return theirs.measure(name, SIZES[sizes], seed)
    from tests.evidence.peers import ours

    return ours.measure(name, SIZES[sizes], seed)


if __name__ == "__main__":
    raise SystemExit(main())
