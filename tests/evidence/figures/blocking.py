"""`python -m tests.evidence.figures.blocking [ROUNDS [ROWS]]`: how long collectors wait for others.

Two processes collect: each thinks for a while and hands on some rows, and a third takes all there
are, as soon as a thousand are. A round does so over rings without a lock and over rings that share
one, in random order; what is counted is the time that both collectors together waited, for room or
for the lock, per million rows. Every row has to arrive.
"""

import random
import sys
import time
from statistics import median
from typing import Any

import numpy as np

from rl_impls.runtimes.actor_learner.ring import Bell, RowRing
from rl_impls.runtimes.processes import SPAWNING, NamelessMemory
from tests.evidence.figures.first_pipeline import LockedRing
from tests.evidence.figures.machine import circumstances

N_COLLECTORS = 2
N_ROWS = 200_000  # of each
ROWS_A_PUT = 8
THINK_S = 20e-6  # before each
WORDS = 13
CAPACITY = 8192
BATCH = 1_000


def collect(ring: RowRing, n_rows: int) -> None:
    rows = np.zeros((ROWS_A_PUT, WORDS), np.uint64)
    for _ in range(n_rows // ROWS_A_PUT):
        end = time.perf_counter() + THINK_S
        while time.perf_counter() < end:
            pass
        ring.put(rows)


def rings(kind: str, data: Bell) -> list[RowRing]:
    if kind == "lock-free":
        return [RowRing(CAPACITY, WORDS, data=data) for _ in range(N_COLLECTORS)]
    lock = NamelessMemory(1)
    return [LockedRing(CAPACITY, WORDS, lock, data=data) for _ in range(N_COLLECTORS)]


def blocked_s_per_million(kind: str, n_rows: int) -> float:
    data = Bell()
    all_rings = rings(kind, data)
    collectors = [
        SPAWNING.Process(target=collect, args=(ring, n_rows), daemon=True) for ring in all_rings
    ]
    for collector in collectors:
        collector.start()
    out = np.zeros((CAPACITY, WORDS), np.uint64)
    total = N_COLLECTORS * (n_rows // ROWS_A_PUT) * ROWS_A_PUT
    n = 0
    while n < total:
        n += sum(len(ring.take(out)) for ring in all_rings)
        share = max(1, min(BATCH, total - n) // N_COLLECTORS)
        sleeps = [ring.asks_for(share) for ring in all_rings]
        if all(sleeps) and n < total:
            data.wait()
    for collector in collectors:
        collector.join()
    assert n == total
    return sum(ring.blocked_ns for ring in all_rings) / 1e9 / (total / 1e6)


def main(argv: list[str]) -> None:
    n_rounds = int(argv[0]) if argv else 9
    n_rows = int(argv[1]) if argv[1:] else N_ROWS
    print(
        f"{circumstances()}\npython -m tests.evidence.figures.blocking {n_rounds}: {N_COLLECTORS} "
        f"collectors, {n_rows:,} rows each, seconds waited per million rows; (quartiles)"
    )
    rounds: list[dict[str, Any]] = []
    for _ in range(n_rounds):
        order = random.sample(["lock-free", "locked"], 2)
        rounds.append({kind: blocked_s_per_million(kind, n_rows) for kind in order})
    for kind in ("lock-free", "locked"):
        values = sorted(done[kind] for done in rounds)
        low, high = values[len(values) // 4], values[-1 - len(values) // 4]
        print(f"  {kind:12}{median(values):>10.4f} s ({low:.4f}, {high:.4f})")
    most = max(done["lock-free"] / done["locked"] for done in rounds if done["locked"])
    print(f"  lock-free / locked, the largest of {n_rounds} rounds: {most:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
