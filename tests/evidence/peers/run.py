"""A run: every contestant once a round, in random order, each in a process of its own.

A run that was cut off, or wants more rounds, is gone on with: what is there is not measured again.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tests.evidence.peers.measured import Measured
from tests.evidence.peers.records import Record, Run, append, begun, newest, read
from tests.evidence.peers.rows import contestants
from tests.evidence.proof.facts import REPOSITORY

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def run(
    path: Path,
    n_rounds: int,
    sizes: str,
    only: Sequence[str] = (),
    module: str = "tests.evidence.peers",
) -> None:
    """`module` is that whose contestants these are."""
    names = only or contestants()
    records = read(path) if path.exists() else []
    this = resumed(records, begun(datetime.now(UTC).isoformat(timespec="seconds"), sizes))
    done = {(record.round, record.contestant) for record in records if record.run == this}
    for number in range(n_rounds):
        for name in random.sample(names, len(names)):
            if (number, name) in done:
                continue
            record = Record(this, number, name, measured(name, sizes, number, module))
            append(path, record)
            print(f"round {number + 1} of {n_rounds}: {name}: {record.measured}", flush=True)


def resumed(records: Sequence[Record], new: Run) -> Run:
    """The newest run there is, where nothing but its date differs from the new one.

    Files that differ from what was committed have no name: nobody knows whether they are the same.
    """
    if records and not new.tree.endswith("-dirty"):
        last = newest(records)
        if replace(last, date=new.date) == new:
            return last
    return new


def argv(name: str, sizes: str, seed: int, module: str) -> list[str]:
    words = [sys.executable, "-m", module, "side", name]
    return [*words, "--sizes", sizes, "--seed", str(seed)]


def measured(name: str, sizes: str, seed: int, module: str) -> Measured:
    ended = subprocess.run(
        argv(name, sizes, seed, module),
        cwd=REPOSITORY,
        env={**os.environ, **dict.fromkeys(ONE_THREAD, "1")},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Measured(**json.loads(ended.stdout.splitlines()[-1]))
