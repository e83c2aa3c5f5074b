"""``python -m tests.evidence.frameworks run`` measures the back ends, ``table`` prints figures."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict

from tests.evidence.frameworks.rows import contestants
from tests.evidence.frameworks.table import render
from tests.evidence.peers.command import parser
from tests.evidence.peers.records import read
from tests.evidence.peers.run import run

ROUNDS = 5
SIZES = ("full", "tiny")


def main(argv: Sequence[str] | None = None) -> int:
    accepts = parser("python -m tests.evidence.frameworks", __doc__, contestants(), SIZES, ROUNDS)
    options = accepts.parse_args(argv)
    if options.command == "table":
        print(render(read(options.file)), end="")
    elif options.command == "side":
        measured = one_side(options.name, options.sizes, options.seed)
        print(json.dumps(measured))
    else:
        names = options.only or contestants()
        run(options.out, options.rounds, options.sizes, names, module="tests.evidence.frameworks")
        print(render(read(options.out)), end="")
    return 0


def one_side(name: str, sizes: str, seed: int) -> dict[str, object]:
    # On one core, before any framework makes a pool as large as the machine.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:  # what torch compiled before would be found again
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        from tests.evidence.frameworks.contestants import measure

        return asdict(measure(name, sizes, seed))


if __name__ == "__main__":
    raise SystemExit(main())
