"""`python -m tests.rl_impls.runtimes.actor_learner.weights_stress [SECONDS]`: is a copy torn?

One process publishes without a pause, two copy without a pause. Every number of a version is that
version: a copy of two versions has two numbers, or not the one it is said to be.
"""

from __future__ import annotations

import sys
import time
from multiprocessing.connection import Connection
from typing import NamedTuple

import numpy as np

from rl_impls.runtimes.actor_learner.weights import SharedWeights
from rl_impls.runtimes.processes import SPAWNING
from tests.rl_impls.runtimes.actor_learner.crowd import start

N_READERS = 2
SIZE = 4_610  # of a network 4-64-64-2
EXACT = 1 << 24  # below this, float32 holds every whole number
LEAST = 100  # versions, however long compiling takes on a busy machine


class Seen(NamedTuple):
    copies: int
    versions: int
    overtaken: int
    torn: int


def publish(weights: SharedWeights, seconds: float, said: Connection) -> None:
    array = np.zeros(SIZE, np.float32)
    end = time.monotonic() + seconds
    version = 0
    while version < LEAST or time.monotonic() < end:
        version += 1
        array[:] = version % EXACT
        weights.publish([array], version)
    said.send(version)


def copy(weights: SharedWeights, seconds: float, said: Connection) -> None:
    array = np.zeros(SIZE, np.float32)
    end = time.monotonic() + seconds
    copies = versions = torn = last = 0
    while not copies or time.monotonic() < end:
        version = weights.copy_to([array])
        wrong = not (array == np.float32(version % EXACT)).all()
        torn += wrong or version < last
        versions += version != last
        copies, last = copies + 1, version
    said.send(Seen(copies, versions, weights.n_overtaken, torn))


def stress(seconds: float) -> tuple[int, list[Seen]]:
    """The last version, and what each reader saw."""
    weights = SharedWeights(SIZE)
    jobs = []
    for target in (publish, *[copy] * N_READERS):
        ours, theirs = SPAWNING.Pipe()
        jobs.append((start(target, weights, seconds, theirs), ours))
        theirs.close()
    last, *seen = [pipe.recv() for _, pipe in jobs]
    for process, _ in jobs:
        process.join()
    return last, seen


def main(argv: list[str]) -> int:
    seconds = float(argv[0]) if argv else 60.0
    last, seen = stress(seconds)
    print(f"{last:,} versions of {SIZE:,} weights published in {seconds:g} s")
    for number, reader in enumerate(seen):
        print(
            f"reader {number}: {reader.copies:,} copies of {reader.versions:,} versions, "
            f"overtaken {reader.overtaken:,} times, {reader.torn:,} torn"
        )
    return int(any(reader.torn for reader in seen))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
