"""`python -m tests.evidence.figures.insert [ROUNDS]`: rows that a full ring takes a second.

The ring holds 100,000, observations are 4 numbers as those of CartPole; every round plays all sizes
of a call once.
"""

import random
import sys
import time
from statistics import median

from rl_impls.replay.layout import Transitions
from rl_impls.replay.prioritised import PrioritisedReplay
from rl_impls.replay.uniform import Ring, UniformReplay
from tests.evidence.figures.machine import circumstances

CAPACITY, OBS_SIZE = 100_000, 4
SECONDS = 0.1
SIZES = (1, 8, 32, 256)
KINDS: tuple[type[Ring], ...] = (UniformReplay, PrioritisedReplay)


def full_ring(kind: type[Ring]) -> Ring:
    ring = kind(CAPACITY, OBS_SIZE, batch_size=32, seed=1)
    ring.add_batch(rows(CAPACITY))
    return ring


def rows(n: int) -> Transitions:
    new = Transitions.zeros(n, OBS_SIZE)
    new.obs_tm1[:] = new.obs_t[:] = 0.5
    return new


def rows_per_s(ring: Ring, size: int) -> float:
    """Insert for a tenth of a second of CPU time: a row alone by `add`, several by `add_batch`."""
    new = rows(size)
    obs, n_calls = new.obs_tm1[0], 0
    begin = time.process_time()
    while time.process_time() - begin < SECONDS:
        for _ in range(100):
            if size == 1:
                ring.add(obs, 1, 1.0, obs, False)
            else:
                ring.add_batch(new)
        n_calls += 100
    return n_calls * size / (time.process_time() - begin)


def main(argv: list[str]) -> None:
    n_rounds = int(argv[0]) if argv else 7
    rings = {kind.__name__: full_ring(kind) for kind in KINDS}
    cases = [(name, size) for name in rings for size in SIZES]
    read: dict[tuple[str, int], list[float]] = {case: [] for case in cases}
    for _ in range(n_rounds):
        for name, size in random.sample(cases, len(cases)):
            read[name, size].append(rows_per_s(rings[name], size))
    print(
        f"{circumstances()}\npython -m tests.evidence.figures.insert {n_rounds}: "
        f"medians of {n_rounds} rounds, CPU time"
    )
    for (name, size), speeds in read.items():
        spread = f"{min(speeds) / 1e6:.2f} to {max(speeds) / 1e6:.2f}"
        print(f"{name:18} {size:4} a call {median(speeds) / 1e6:8.2f} M rows/s ({spread})")


if __name__ == "__main__":
    main(sys.argv[1:])
